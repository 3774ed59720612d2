// The operations of the Integration API, generated from its OpenAPI document by `just records`. Do not edit.

import type { Api, List } from "./api.js";
import type { RequestOptions } from "./options.js";
import { path } from "./path.js";
import type * as schema from "../types/schema.js";

type Query<Name extends keyof schema.operations> = NonNullable<schema.operations[Name]["parameters"]["query"]>;

abstract class Resource {
  constructor(protected readonly api: Api) {}
}

export class Account extends Resource {
  /** Retrieve the merchant account. With the limits of the credential, and what is left of them. Scope: `account:read`. */
  get(options?: RequestOptions): Promise<schema.AccountView> {
    return this.api.call("GET", "/account", options);
  }
}

export class BalancePayments extends Resource {
  /** List balance payments. Newest first. An access token lists those of its application, an API key lists all. Scope: `balance-payments:read`. */
  list(query: Query<"list_balance_payments"> = {}, options?: RequestOptions): List<schema.BalancePaymentList, schema.BalancePaymentView> {
    return this.api.list("/balance-payments", "balance_payments", query, options);
  }

  /** Create a balance payment. It pays the owner of an application from the merchant's balance, or reserves the amount. Scope: `balance-payments:write`. */
  create(body: schema.NewBalancePayment, options?: RequestOptions): Promise<schema.BalancePaymentView> {
    return this.api.call("POST", "/balance-payments", options, { body });
  }

  /** Retrieve a balance payment. Scope: `balance-payments:read`. */
  get(paymentId: string, options?: RequestOptions): Promise<schema.BalancePaymentView> {
    return this.api.call("GET", path`/balance-payments/${paymentId}`, options);
  }

  /** Capture a balance payment. Possible once. Confidential clients can capture a part; the rest is released. Scope: `balance-payments:write`. */
  capture(paymentId: string, body: schema.PartialAmount = {}, options?: RequestOptions): Promise<schema.BalancePaymentView> {
    return this.api.call("POST", path`/balance-payments/${paymentId}/capture`, options, { body });
  }

  /** Release a balance payment. Its reservation ends. The amount becomes available to the merchant again. Scope: `balance-payments:write`. */
  release(paymentId: string, options?: RequestOptions): Promise<schema.BalancePaymentView> {
    return this.api.call("POST", path`/balance-payments/${paymentId}/release`, options);
  }

  /** Refund a balance payment. The money comes from the owner's balance, in full or in part. Scope: `balance-payments:write`. */
  refund(paymentId: string, body: schema.PartialAmount = {}, options?: RequestOptions): Promise<schema.BalancePaymentView> {
    return this.api.call("POST", path`/balance-payments/${paymentId}/refund`, options, { body });
  }
}

export class Balances extends Resource {
  /** List balances. All are as of one moment. Scope: `balances:read`. */
  list(query: Query<"list_balances"> = {}, options?: RequestOptions): List<schema.BalanceList, schema.BalanceView> {
    return this.api.list("/balances", "balances", query, options);
  }

  /** Retrieve a balance. Scope: `balances:read`. */
  get(code: string, options?: RequestOptions): Promise<schema.BalanceView> {
    return this.api.call("GET", path`/balances/${code}`, options);
  }
}

export class ConversionPairs extends Resource {
  /** List currency pairs. Unavailable ones have a reason. Scope: `conversions:read`. */
  list(query: Query<"list_pairs"> = {}, options?: RequestOptions): List<schema.ConversionPairList, schema.ConversionPairView> {
    return this.api.list("/conversion-pairs", "conversion_pairs", query, options);
  }
}

export class ConversionQuotes extends Resource {
  /** Create a conversion quote. It is guaranteed for 30 seconds. No money is reserved. Scope: `conversions:read`. */
  create(body: schema.NewConversionQuote, options?: RequestOptions): Promise<schema.ConversionQuoteView> {
    return this.api.call("POST", "/conversion-quotes", options, { body });
  }
}

export class ConversionRules extends Resource {
  /** List conversion rules. Newest first. Scope: `conversions:read`. */
  list(query: Query<"list_rules"> = {}, options?: RequestOptions): List<schema.ConversionRuleList, schema.ConversionRuleView> {
    return this.api.list("/conversion-rules", "conversion_rules", query, options);
  }

  /** Create a conversion rule. It converts a share of each payment, or of the balance when it reaches a threshold. Scope: `conversions:write`. */
  create(body: schema.NewConversionRule, options?: RequestOptions): Promise<schema.ConversionRuleView> {
    return this.api.call("POST", "/conversion-rules", options, { body });
  }

  /** Retrieve a conversion rule. Scope: `conversions:read`. */
  get(ruleId: string, options?: RequestOptions): Promise<schema.ConversionRuleView> {
    return this.api.call("GET", path`/conversion-rules/${ruleId}`, options);
  }

  /** Update a conversion rule. Send all members. Scope: `conversions:write`. */
  update(ruleId: string, body: schema.ConversionRuleUpdate, options?: RequestOptions): Promise<schema.ConversionRuleView> {
    return this.api.call("PUT", path`/conversion-rules/${ruleId}`, options, { body });
  }

  /** Delete a conversion rule. Its conversions are kept. Scope: `conversions:write`. */
  delete(ruleId: string, options?: RequestOptions): Promise<schema.ConversionRuleView> {
    return this.api.call("DELETE", path`/conversion-rules/${ruleId}`, options);
  }
}

export class Conversions extends Resource {
  /** List conversions. Newest first. Scope: `conversions:read`. */
  list(query: Query<"list_conversions"> = {}, options?: RequestOptions): List<schema.ConversionList, schema.ConversionView> {
    return this.api.list("/conversions", "conversions", query, options);
  }

  /** Create a conversion. It converts an amount of the balance to another currency. Scope: `conversions:write`. */
  create(body: schema.NewConversion = {}, options?: RequestOptions): Promise<schema.ConversionView> {
    return this.api.call("POST", "/conversions", options, { body });
  }

  /** Retrieve a conversion. Scope: `conversions:read`. */
  get(conversionId: string, options?: RequestOptions): Promise<schema.ConversionView> {
    return this.api.call("GET", path`/conversions/${conversionId}`, options);
  }
}

export class Currencies extends Resource {
  /** List currencies. Each has its decimals, networks and supported operations. */
  list(query: Query<"list_currencies"> = {}, options?: RequestOptions): List<schema.CurrencyList, schema.CurrencyView> {
    return this.api.list("/currencies", "currencies", query, options);
  }
}

export class Disputes extends Resource {
  /** List disputes. Newest first. Scope: `payments:read`. */
  list(query: Query<"list_disputes"> = {}, options?: RequestOptions): List<schema.DisputeList, schema.DisputeView> {
    return this.api.list("/disputes", "disputes", query, options);
  }

  /** Retrieve a dispute. Scope: `payments:read`. */
  get(disputeId: string, options?: RequestOptions): Promise<schema.DisputeView> {
    return this.api.call("GET", path`/disputes/${disputeId}`, options);
  }

  /** Save evidence as a draft. Replaces the draft. Until it is submitted, nobody else reads it. Scope: `payments:write`. */
  updateEvidence(disputeId: string, body: schema.NewEvidence = {}, options?: RequestOptions): Promise<schema.DisputeView> {
    return this.api.call("PUT", path`/disputes/${disputeId}/evidence`, options, { body });
  }

  /** Submit the saved evidence. It cannot be changed afterwards. Scope: `payments:write`. */
  submit(disputeId: string, options?: RequestOptions): Promise<schema.DisputeView> {
    return this.api.call("POST", path`/disputes/${disputeId}/submit`, options);
  }

  /** Accept a dispute. The customer keeps the amount. This cannot be undone. Scope: `payments:write`. */
  accept(disputeId: string, options?: RequestOptions): Promise<schema.DisputeView> {
    return this.api.call("POST", path`/disputes/${disputeId}/accept`, options);
  }
}

export class Events extends Resource {
  /** Read the event feed. Events of the environment in the order of their positions, oldest first. Scope: `webhooks:read`. */
  get(query: Omit<Query<"read_feed">, "format"> = {}, options?: RequestOptions): Promise<schema.FeedPage> {
    return this.api.call("GET", "/events", options, { query });
  }
}

export class FulfillmentProducts extends Resource {
  /** List fulfillment products. Unavailable ones have a reason. Scope: `fulfillments:read`. */
  list(query: Query<"list_fulfillment_products"> = {}, options?: RequestOptions): List<schema.FulfillmentProductList, schema.ProductView> {
    return this.api.list("/fulfillment-products", "fulfillment_products", query, options);
  }
}

export class Fulfillments extends Resource {
  /** List fulfillments. Newest first. Scope: `fulfillments:read`. */
  list(query: Query<"list_fulfillments"> = {}, options?: RequestOptions): List<schema.FulfillmentList, schema.FulfillmentView> {
    return this.api.list("/fulfillments", "fulfillments", query, options);
  }

  /** Create a fulfillment. It orders a delivery to a player, paid from the balance. Scope: `fulfillments:write`. */
  create(body: schema.NewFulfillment, options?: RequestOptions): Promise<schema.FulfillmentView> {
    return this.api.call("POST", "/fulfillments", options, { body });
  }

  /** Retrieve fulfillment statistics. They cover a period, in total and by day, product or status. Scope: `fulfillments:read`. */
  statistics(query: Query<"read_fulfillment_statistics"> = {}, options?: RequestOptions): Promise<schema.FulfillmentStatistics> {
    return this.api.call("GET", "/fulfillments/statistics", options, { query });
  }

  /** Retrieve a fulfillment. Scope: `fulfillments:read`. */
  get(fulfillmentId: string, options?: RequestOptions): Promise<schema.FulfillmentView> {
    return this.api.call("GET", path`/fulfillments/${fulfillmentId}`, options);
  }

  /** Cancel a fulfillment. Possible while it is pending. The cost becomes available again. Scope: `fulfillments:write`. */
  cancel(fulfillmentId: string, options?: RequestOptions): Promise<schema.FulfillmentView> {
    return this.api.call("POST", path`/fulfillments/${fulfillmentId}/cancel`, options);
  }
}

export class Ledger extends Resource {
  /** List ledger entries. Newest first. Scope: `balances:read`. */
  list(query: Query<"list_entries"> = {}, options?: RequestOptions): List<schema.EntryList, schema.EntryView> {
    return this.api.list("/ledger", "ledger", query, options);
  }

  /** Retrieve a ledger entry. Scope: `balances:read`. */
  get(entryId: string, options?: RequestOptions): Promise<schema.EntryView> {
    return this.api.call("GET", path`/ledger/${entryId}`, options);
  }
}

export class PaymentLinks extends Resource {
  /** List payment links. Newest first. Scope: `payments:read`. */
  list(query: Query<"list_links"> = {}, options?: RequestOptions): List<schema.LinkList, schema.LinkView> {
    return this.api.list("/payment-links", "payment_links", query, options);
  }

  /** Create a payment link. Scope: `payments:write`. */
  create(body: schema.LinkRequest, options?: RequestOptions): Promise<schema.LinkView> {
    return this.api.call("POST", "/payment-links", options, { body });
  }

  /** Retrieve a payment link. Scope: `payments:read`. */
  get(linkId: string, options?: RequestOptions): Promise<schema.LinkView> {
    return this.api.call("GET", path`/payment-links/${linkId}`, options);
  }

  /** Change when an active payment link expires. It can be earlier or later. Scope: `payments:write`. */
  changeExpiry(linkId: string, body: schema.LinkExpiryRequest, options?: RequestOptions): Promise<schema.LinkView> {
    return this.api.call("POST", path`/payment-links/${linkId}/expiry`, options, { body });
  }

  /** Cancel a payment link. Canceling it again changes nothing. Scope: `payments:write`. */
  cancel(linkId: string, options?: RequestOptions): Promise<schema.LinkView> {
    return this.api.call("POST", path`/payment-links/${linkId}/cancel`, options);
  }
}

export class PaymentMethods extends Resource {
  /** List payment methods. These are all of the hosted checkout; unavailable ones have a reason. Scope: `projects:read` or `settings:read`. */
  list(query: Query<"list_methods"> = {}, options?: RequestOptions): List<schema.PaymentMethodList, schema.PaymentMethodView> {
    return this.api.list("/payment-methods", "payment_methods", query, options);
  }
}

export class Projects extends Resource {
  /** List approved projects. Newest first. Scope: `projects:read`. */
  list(query: Query<"list_projects"> = {}, options?: RequestOptions): List<schema.ProjectList, schema.ProjectView> {
    return this.api.list("/projects", "projects", query, options);
  }

  /** Retrieve an approved project. Scope: `projects:read`. */
  get(projectId: string, options?: RequestOptions): Promise<schema.ProjectView> {
    return this.api.call("GET", path`/projects/${projectId}`, options);
  }
}

export class Proposals extends Resource {
  /** List proposals. Newest first, those of this connection or API key. */
  list(query: Query<"list_proposals"> = {}, options?: RequestOptions): List<schema.ProposalList, schema.ProposalView> {
    return this.api.list("/proposals", "proposals", query, options);
  }

  /** Create a proposal. The operation runs when the merchant approves it. It needs the write scope of the operation. Scope: `withdrawals:write` or `payments:write` or `balance-payments:write` or `conversions:write` or `fulfillments:write`. */
  create(body: schema.NewProposal, options?: RequestOptions): Promise<schema.ProposalView> {
    return this.api.call("POST", "/proposals", options, { body });
  }

  /** Retrieve a proposal. */
  get(proposalId: string, options?: RequestOptions): Promise<schema.ProposalView> {
    return this.api.call("GET", path`/proposals/${proposalId}`, options);
  }

  /** Cancel a proposal. Possible while it waits. */
  cancel(proposalId: string, options?: RequestOptions): Promise<schema.ProposalView> {
    return this.api.call("POST", path`/proposals/${proposalId}/cancel`, options);
  }
}

export class Refunds extends Resource {
  /** List refunds. Newest first. Scope: `payments:read`. */
  list(query: Query<"list_refunds"> = {}, options?: RequestOptions): List<schema.RefundList, schema.RefundView> {
    return this.api.list("/refunds", "refunds", query, options);
  }

  /** Retrieve a refund. Scope: `payments:read`. */
  get(refundId: string, options?: RequestOptions): Promise<schema.RefundView> {
    return this.api.call("GET", path`/refunds/${refundId}`, options);
  }
}

export class Reports extends Resource {
  /** Retrieve a financial summary. It shows what changed the balances in a period, by currency, as JSON or CSV. Scope: `reports:read`. */
  financialSummary(query: Omit<Query<"financial_summary">, "format"> = {}, options?: RequestOptions): Promise<schema.FinancialReport> {
    return this.api.call("GET", "/reports/financial-summary", options, { query });
  }
}

export class RequestLog extends Resource {
  /** Read the request log. Requests of the last days, newest first, without what was sent and answered. Scope: `account:read`. */
  get(query: Query<"read_request_log"> = {}, options?: RequestOptions): Promise<schema.OwnRequests> {
    return this.api.call("GET", "/request-log", options, { query });
  }
}

export class Settings extends Resource {
  /** Retrieve the withdrawal settings. They are those of the current environment. Scope: `settings:read`. */
  getWithdrawals(options?: RequestOptions): Promise<schema.WithdrawalSettingsView> {
    return this.api.call("GET", "/settings/withdrawals", options);
  }

  /** Update the withdrawal settings. `saved_recipients_only` is turned off only after a cooling time. Scope: `settings:write`. */
  updateWithdrawals(body: schema.NewWithdrawalSettings, options?: RequestOptions): Promise<schema.WithdrawalSettingsView> {
    return this.api.call("PUT", "/settings/withdrawals", options, { body });
  }

  /** Retrieve the settings. They are those of the current environment. Scope: `settings:read`. */
  get(options?: RequestOptions): Promise<schema.SettingsView> {
    return this.api.call("GET", "/settings", options);
  }

  /** Update the settings. Replaces those of the current environment. Needs the version that was read. Scope: `settings:write`. */
  update(body: schema.NewSettings, options?: RequestOptions): Promise<schema.SettingsView> {
    return this.api.call("PUT", "/settings", options, { body });
  }
}

export class Test extends Resource {
  /** Simulate a transaction. You decide what the customer and the bank do. Scope: `payments:write`. */
  simulateTransaction(transactionId: string, body: schema.Simulation, options?: RequestOptions): Promise<schema.TransactionView> {
    return this.api.call("POST", path`/test/transactions/${transactionId}/simulate`, options, { body });
  }

  /** Simulate a payment of a link. Starts a transaction in the simulator, and simulates its outcome. Scope: `payments:write`. */
  simulatePaymentLink(linkId: string, body: schema.LinkSimulation, options?: RequestOptions): Promise<schema.TransactionView> {
    return this.api.call("POST", path`/test/payment-links/${linkId}/simulate`, options, { body });
  }

  /** Simulate a refund. You decide what the operator and the bank do. Scope: `payments:write`. */
  simulateRefund(refundId: string, body: schema.RefundSimulation, options?: RequestOptions): Promise<schema.RefundView> {
    return this.api.call("POST", path`/test/refunds/${refundId}/simulate`, options, { body });
  }

  /** Add test funds to a balance. Scope: `payments:write`. */
  fundBalance(body: schema.Funding, options?: RequestOptions): Promise<schema.BalanceView> {
    return this.api.call("POST", "/test/balances/fund", options, { body });
  }

  /** Advance the test clock. Links that are due then expire. Scope: `payments:write`. */
  advanceClock(body: schema.ClockAdvance, options?: RequestOptions): Promise<schema.ClockView> {
    return this.api.call("POST", "/test/clock/advance", options, { body });
  }

  /** Simulate a withdrawal. You decide what the operator and the bank do. Scope: `withdrawals:write`. */
  simulateWithdrawal(withdrawalId: string, body: schema.WithdrawalSimulation, options?: RequestOptions): Promise<schema.WithdrawalView> {
    return this.api.call("POST", path`/test/withdrawals/${withdrawalId}/simulate`, options, { body });
  }

  /** Simulate a fulfillment. You decide what the game server answers. Scope: `fulfillments:write`. */
  simulateFulfillment(fulfillmentId: string, body: schema.FulfillmentSimulation, options?: RequestOptions): Promise<schema.FulfillmentView> {
    return this.api.call("POST", path`/test/fulfillments/${fulfillmentId}/simulate`, options, { body });
  }
}

export class Transactions extends Resource {
  /** List transactions. Newest first. Scope: `payments:read`. */
  list(query: Query<"list_transactions"> = {}, options?: RequestOptions): List<schema.TransactionList, schema.TransactionView> {
    return this.api.list("/transactions", "transactions", query, options);
  }

  /** Retrieve a transaction. Scope: `payments:read`. */
  get(transactionId: string, options?: RequestOptions): Promise<schema.TransactionView> {
    return this.api.call("GET", path`/transactions/${transactionId}`, options);
  }

  /** Accept a payment. It can be late, a duplicate, after a cancellation, or of another amount. Scope: `payments:write`. */
  accept(transactionId: string, options?: RequestOptions): Promise<schema.TransactionView> {
    return this.api.call("POST", path`/transactions/${transactionId}/accept`, options);
  }

  /** List the refunds of a transaction. Newest first. Scope: `payments:read`. */
  listRefunds(transactionId: string, query: Query<"list_refunds_of"> = {}, options?: RequestOptions): List<schema.RefundList, schema.RefundView> {
    return this.api.list(path`/transactions/${transactionId}/refunds`, "refunds", query, options);
  }

  /** Refund a payment. Refunds all that is left, or a part. By default it goes to the account that paid. Scope: `payments:write`. */
  createRefund(transactionId: string, body: schema.NewRefund = {}, options?: RequestOptions): Promise<schema.RefundView> {
    return this.api.call("POST", path`/transactions/${transactionId}/refunds`, options, { body });
  }
}

export class Webhook extends Resource {
  /** Retrieve the webhook configuration. Null before the first PUT and after the end of compatibility. Scope: `webhooks:read`. */
  get(options?: RequestOptions): Promise<schema.WebhookConfiguration | null> {
    return this.api.call("GET", "/webhook", options);
  }

  /** Save the webhook configuration. The first answer includes the new signing secret. Scope: `webhooks:write`. */
  save(body: schema.NewConfiguration, options?: RequestOptions): Promise<schema.WebhookConfiguration> {
    return this.api.call("PUT", "/webhook", options, { body, once: true });
  }

  /** Turn off webhook delivery. Applies to the current environment. Scope: `webhooks:write`. */
  disable(options?: RequestOptions): Promise<schema.WebhookConfiguration | null> {
    return this.api.call("DELETE", "/webhook", options);
  }

  /** Rotate the signing secret. The new value is returned once. Scope: `webhooks:write`. */
  rotateSecret(body: schema.SigningSecretRotation = {}, options?: RequestOptions): Promise<schema.SecretView> {
    return this.api.call("POST", "/webhook/rotate-secret", options, { body, once: true });
  }

  /** Send a test event. It is signed, sent once to the given URL, and recorded. Scope: `webhooks:write`. */
  sendTest(body: schema.NewTestEvent, options?: RequestOptions): Promise<schema.EventView> {
    return this.api.call("POST", "/webhook/test", options, { body });
  }
}

export class WebhookEvents extends Resource {
  /** List events. They have their delivery status; newest first. Scope: `webhooks:read`. */
  list(query: Query<"list_events"> = {}, options?: RequestOptions): List<schema.EventList, schema.EventView> {
    return this.api.list("/webhook-events", "webhook_events", query, options);
  }

  /** Retrieve an event. It has its delivery history. Scope: `webhooks:read`. */
  get(eventId: string, options?: RequestOptions): Promise<schema.EventWithHistory> {
    return this.api.call("GET", path`/webhook-events/${eventId}`, options);
  }

  /** Redeliver an event. Scope: `webhooks:write`. */
  redeliver(eventId: string, options?: RequestOptions): Promise<schema.EventView> {
    return this.api.call("POST", path`/webhook-events/${eventId}/redeliver`, options);
  }
}

export class WithdrawalBatches extends Resource {
  /** List withdrawal batches. Newest first. Scope: `withdrawals:read`. */
  list(query: Query<"list_batches"> = {}, options?: RequestOptions): List<schema.WithdrawalBatchList, schema.WithdrawalBatchView> {
    return this.api.list("/withdrawal-batches", "withdrawal_batches", query, options);
  }

  /** Create a withdrawal batch. All of its withdrawals are created and their amounts reserved, or none. Scope: `withdrawals:write`. */
  create(body: schema.NewBatch, options?: RequestOptions): Promise<schema.WithdrawalBatchView> {
    return this.api.call("POST", "/withdrawal-batches", options, { body });
  }

  /** Retrieve a withdrawal batch. Scope: `withdrawals:read`. */
  get(batchId: string, options?: RequestOptions): Promise<schema.WithdrawalBatchView> {
    return this.api.call("GET", path`/withdrawal-batches/${batchId}`, options);
  }
}

export class WithdrawalMethods extends Resource {
  /** List withdrawal methods. Unavailable ones have a reason. Scope: `withdrawals:read`. */
  list(query: Query<"list_withdrawal_methods"> = {}, options?: RequestOptions): List<schema.WithdrawalMethodList, schema.WithdrawalMethodView> {
    return this.api.list("/withdrawal-methods", "withdrawal_methods", query, options);
  }
}

export class WithdrawalQuotes extends Resource {
  /** Create a withdrawal quote. Its costs are guaranteed for one minute. No money is reserved. Scope: `withdrawals:read`. */
  create(body: schema.NewWithdrawalQuote, options?: RequestOptions): Promise<schema.WithdrawalQuoteView> {
    return this.api.call("POST", "/withdrawal-quotes", options, { body });
  }
}

export class WithdrawalRecipients extends Resource {
  /** List withdrawal recipients. Newest first. Scope: `withdrawals:read`. */
  list(query: Query<"list_recipients"> = {}, options?: RequestOptions): List<schema.SavedRecipientList, schema.SavedRecipientView> {
    return this.api.list("/withdrawal-recipients", "withdrawal_recipients", query, options);
  }

  /** Create a withdrawal recipient. It can be paid from `active_at` on. In live mode, all users get an email. Scope: `withdrawals:write`. */
  create(body: schema.NewRecipient, options?: RequestOptions): Promise<schema.SavedRecipientView> {
    return this.api.call("POST", "/withdrawal-recipients", options, { body });
  }

  /** Retrieve a withdrawal recipient. Scope: `withdrawals:read`. */
  get(recipientId: string, options?: RequestOptions): Promise<schema.SavedRecipientView> {
    return this.api.call("GET", path`/withdrawal-recipients/${recipientId}`, options);
  }

  /** Delete a withdrawal recipient. Its withdrawals are kept. Scope: `withdrawals:write`. */
  delete(recipientId: string, options?: RequestOptions): Promise<schema.SavedRecipientView> {
    return this.api.call("DELETE", path`/withdrawal-recipients/${recipientId}`, options);
  }
}

export class WithdrawalSchedules extends Resource {
  /** List withdrawal schedules. Newest first. Scope: `withdrawals:read`. */
  list(query: Query<"list_schedules"> = {}, options?: RequestOptions): List<schema.WithdrawalScheduleList, schema.WithdrawalScheduleView> {
    return this.api.list("/withdrawal-schedules", "withdrawal_schedules", query, options);
  }

  /** Create a withdrawal schedule. It withdraws to a saved recipient at a time, or every day, week or month. Scope: `withdrawals:write`. */
  create(body: schema.NewSchedule, options?: RequestOptions): Promise<schema.WithdrawalScheduleView> {
    return this.api.call("POST", "/withdrawal-schedules", options, { body });
  }

  /** Retrieve a withdrawal schedule. With its latest 100 runs. Scope: `withdrawals:read`. */
  get(scheduleId: string, options?: RequestOptions): Promise<schema.WithdrawalScheduleDetails> {
    return this.api.call("GET", path`/withdrawal-schedules/${scheduleId}`, options);
  }

  /** End a withdrawal schedule. Its withdrawals are kept. Scope: `withdrawals:write`. */
  delete(scheduleId: string, options?: RequestOptions): Promise<schema.WithdrawalScheduleView> {
    return this.api.call("DELETE", path`/withdrawal-schedules/${scheduleId}`, options);
  }

  /** Pause a withdrawal schedule. Its times pass without withdrawals. Scope: `withdrawals:write`. */
  pause(scheduleId: string, options?: RequestOptions): Promise<schema.WithdrawalScheduleView> {
    return this.api.call("POST", path`/withdrawal-schedules/${scheduleId}/pause`, options);
  }

  /** Resume a withdrawal schedule. It runs at its next time. Scope: `withdrawals:write`. */
  resume(scheduleId: string, options?: RequestOptions): Promise<schema.WithdrawalScheduleView> {
    return this.api.call("POST", path`/withdrawal-schedules/${scheduleId}/resume`, options);
  }
}

export class Withdrawals extends Resource {
  /** List withdrawals. Newest first. Scope: `withdrawals:read`. */
  list(query: Query<"list_withdrawals"> = {}, options?: RequestOptions): List<schema.WithdrawalList, schema.WithdrawalView> {
    return this.api.list("/withdrawals", "withdrawals", query, options);
  }

  /** Create a withdrawal. The amount is reserved at once. In live mode an operator reviews it. Scope: `withdrawals:write`. */
  create(body: schema.NewWithdrawal, options?: RequestOptions): Promise<schema.WithdrawalView> {
    return this.api.call("POST", "/withdrawals", options, { body });
  }

  /** Retrieve a withdrawal. Scope: `withdrawals:read`. */
  get(withdrawalId: string, options?: RequestOptions): Promise<schema.WithdrawalView> {
    return this.api.call("GET", path`/withdrawals/${withdrawalId}`, options);
  }

  /** Cancel a withdrawal. Possible until it is sent. The amount becomes available again. Scope: `withdrawals:write`. */
  cancel(withdrawalId: string, options?: RequestOptions): Promise<schema.WithdrawalView> {
    return this.api.call("POST", path`/withdrawals/${withdrawalId}/cancel`, options);
  }
}

export class Resources {
  readonly account: Account;
  readonly balancePayments: BalancePayments;
  readonly balances: Balances;
  readonly conversionPairs: ConversionPairs;
  readonly conversionQuotes: ConversionQuotes;
  readonly conversionRules: ConversionRules;
  readonly conversions: Conversions;
  readonly currencies: Currencies;
  readonly disputes: Disputes;
  readonly events: Events;
  readonly fulfillmentProducts: FulfillmentProducts;
  readonly fulfillments: Fulfillments;
  readonly ledger: Ledger;
  readonly paymentLinks: PaymentLinks;
  readonly paymentMethods: PaymentMethods;
  readonly projects: Projects;
  readonly proposals: Proposals;
  readonly refunds: Refunds;
  readonly reports: Reports;
  readonly requestLog: RequestLog;
  readonly settings: Settings;
  readonly test: Test;
  readonly transactions: Transactions;
  readonly webhook: Webhook;
  readonly webhookEvents: WebhookEvents;
  readonly withdrawalBatches: WithdrawalBatches;
  readonly withdrawalMethods: WithdrawalMethods;
  readonly withdrawalQuotes: WithdrawalQuotes;
  readonly withdrawalRecipients: WithdrawalRecipients;
  readonly withdrawalSchedules: WithdrawalSchedules;
  readonly withdrawals: Withdrawals;

  constructor(api: Api) {
    this.account = new Account(api);
    this.balancePayments = new BalancePayments(api);
    this.balances = new Balances(api);
    this.conversionPairs = new ConversionPairs(api);
    this.conversionQuotes = new ConversionQuotes(api);
    this.conversionRules = new ConversionRules(api);
    this.conversions = new Conversions(api);
    this.currencies = new Currencies(api);
    this.disputes = new Disputes(api);
    this.events = new Events(api);
    this.fulfillmentProducts = new FulfillmentProducts(api);
    this.fulfillments = new Fulfillments(api);
    this.ledger = new Ledger(api);
    this.paymentLinks = new PaymentLinks(api);
    this.paymentMethods = new PaymentMethods(api);
    this.projects = new Projects(api);
    this.proposals = new Proposals(api);
    this.refunds = new Refunds(api);
    this.reports = new Reports(api);
    this.requestLog = new RequestLog(api);
    this.settings = new Settings(api);
    this.test = new Test(api);
    this.transactions = new Transactions(api);
    this.webhook = new Webhook(api);
    this.webhookEvents = new WebhookEvents(api);
    this.withdrawalBatches = new WithdrawalBatches(api);
    this.withdrawalMethods = new WithdrawalMethods(api);
    this.withdrawalQuotes = new WithdrawalQuotes(api);
    this.withdrawalRecipients = new WithdrawalRecipients(api);
    this.withdrawalSchedules = new WithdrawalSchedules(api);
    this.withdrawals = new Withdrawals(api);
  }
}
