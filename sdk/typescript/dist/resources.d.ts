import type { Api, List } from "./api.js";
import type { RequestOptions } from "./options.js";
import type * as schema from "../types/schema.js";
type Query<Name extends keyof schema.operations> = NonNullable<schema.operations[Name]["parameters"]["query"]>;
declare abstract class Resource {
    protected readonly api: Api;
    constructor(api: Api);
}
export declare class Account extends Resource {
    /** Retrieve the merchant account. With the limits of the credential, and what is left of them. Scope: `account:read`. */
    get(options?: RequestOptions): Promise<schema.AccountView>;
}
export declare class BalancePayments extends Resource {
    /** List balance payments. Newest first. An access token lists those of its application, an API key lists all. Scope: `balance-payments:read`. */
    list(query?: Query<"list_balance_payments">, options?: RequestOptions): List<schema.BalancePaymentList, schema.BalancePaymentView>;
    /** Create a balance payment. It pays the owner of an application from the merchant's balance, or reserves the amount. Scope: `balance-payments:write`. */
    create(body: schema.NewBalancePayment, options?: RequestOptions): Promise<schema.BalancePaymentView>;
    /** Retrieve a balance payment. Scope: `balance-payments:read`. */
    get(paymentId: string, options?: RequestOptions): Promise<schema.BalancePaymentView>;
    /** Capture a balance payment. Possible once. Confidential clients can capture a part; the rest is released. Scope: `balance-payments:write`. */
    capture(paymentId: string, body?: schema.PartialAmount, options?: RequestOptions): Promise<schema.BalancePaymentView>;
    /** Release a balance payment. Its reservation ends. The amount becomes available to the merchant again. Scope: `balance-payments:write`. */
    release(paymentId: string, options?: RequestOptions): Promise<schema.BalancePaymentView>;
    /** Refund a balance payment. The money comes from the owner's balance, in full or in part. Scope: `balance-payments:write`. */
    refund(paymentId: string, body?: schema.PartialAmount, options?: RequestOptions): Promise<schema.BalancePaymentView>;
}
export declare class Balances extends Resource {
    /** List balances. All are as of one moment. Scope: `balances:read`. */
    list(query?: Query<"list_balances">, options?: RequestOptions): List<schema.BalanceList, schema.BalanceView>;
    /** Retrieve a balance. Scope: `balances:read`. */
    get(code: string, options?: RequestOptions): Promise<schema.BalanceView>;
}
export declare class ConversionPairs extends Resource {
    /** List currency pairs. Unavailable ones have a reason. Scope: `conversions:read`. */
    list(query?: Query<"list_pairs">, options?: RequestOptions): List<schema.ConversionPairList, schema.ConversionPairView>;
}
export declare class ConversionQuotes extends Resource {
    /** Create a conversion quote. It is guaranteed for 30 seconds. No money is reserved. Scope: `conversions:read`. */
    create(body: schema.NewConversionQuote, options?: RequestOptions): Promise<schema.ConversionQuoteView>;
}
export declare class ConversionRules extends Resource {
    /** List conversion rules. Newest first. Scope: `conversions:read`. */
    list(query?: Query<"list_rules">, options?: RequestOptions): List<schema.ConversionRuleList, schema.ConversionRuleView>;
    /** Create a conversion rule. It converts a share of each payment, or of the balance when it reaches a threshold. Scope: `conversions:write`. */
    create(body: schema.NewConversionRule, options?: RequestOptions): Promise<schema.ConversionRuleView>;
    /** Retrieve a conversion rule. Scope: `conversions:read`. */
    get(ruleId: string, options?: RequestOptions): Promise<schema.ConversionRuleView>;
    /** Update a conversion rule. Send all members. Scope: `conversions:write`. */
    update(ruleId: string, body: schema.ConversionRuleUpdate, options?: RequestOptions): Promise<schema.ConversionRuleView>;
    /** Delete a conversion rule. Its conversions are kept. Scope: `conversions:write`. */
    delete(ruleId: string, options?: RequestOptions): Promise<schema.ConversionRuleView>;
}
export declare class Conversions extends Resource {
    /** List conversions. Newest first. Scope: `conversions:read`. */
    list(query?: Query<"list_conversions">, options?: RequestOptions): List<schema.ConversionList, schema.ConversionView>;
    /** Create a conversion. It converts an amount of the balance to another currency. Scope: `conversions:write`. */
    create(body?: schema.NewConversion, options?: RequestOptions): Promise<schema.ConversionView>;
    /** Retrieve a conversion. Scope: `conversions:read`. */
    get(conversionId: string, options?: RequestOptions): Promise<schema.ConversionView>;
}
export declare class Currencies extends Resource {
    /** List currencies. Each has its decimals, networks and supported operations. */
    list(query?: Query<"list_currencies">, options?: RequestOptions): List<schema.CurrencyList, schema.CurrencyView>;
}
export declare class Disputes extends Resource {
    /** List disputes. Newest first. Scope: `payments:read`. */
    list(query?: Query<"list_disputes">, options?: RequestOptions): List<schema.DisputeList, schema.DisputeView>;
    /** Retrieve a dispute. Scope: `payments:read`. */
    get(disputeId: string, options?: RequestOptions): Promise<schema.DisputeView>;
    /** Save evidence as a draft. Replaces the draft. Until it is submitted, nobody else reads it. Scope: `payments:write`. */
    updateEvidence(disputeId: string, body?: schema.NewEvidence, options?: RequestOptions): Promise<schema.DisputeView>;
    /** Submit the saved evidence. It cannot be changed afterwards. Scope: `payments:write`. */
    submit(disputeId: string, options?: RequestOptions): Promise<schema.DisputeView>;
    /** Accept a dispute. The customer keeps the amount. This cannot be undone. Scope: `payments:write`. */
    accept(disputeId: string, options?: RequestOptions): Promise<schema.DisputeView>;
}
export declare class Events extends Resource {
    /** Read the event feed. Events of the environment in the order of their positions, oldest first. Scope: `webhooks:read`. */
    get(query?: Omit<Query<"read_feed">, "format">, options?: RequestOptions): Promise<schema.FeedPage>;
}
export declare class FulfillmentProducts extends Resource {
    /** List fulfillment products. Unavailable ones have a reason. Scope: `fulfillments:read`. */
    list(query?: Query<"list_fulfillment_products">, options?: RequestOptions): List<schema.FulfillmentProductList, schema.ProductView>;
}
export declare class Fulfillments extends Resource {
    /** List fulfillments. Newest first. Scope: `fulfillments:read`. */
    list(query?: Query<"list_fulfillments">, options?: RequestOptions): List<schema.FulfillmentList, schema.FulfillmentView>;
    /** Create a fulfillment. It orders a delivery to a player, paid from the balance. Scope: `fulfillments:write`. */
    create(body: schema.NewFulfillment, options?: RequestOptions): Promise<schema.FulfillmentView>;
    /** Retrieve fulfillment statistics. They cover a period, in total and by day, product or status. Scope: `fulfillments:read`. */
    statistics(query?: Query<"read_fulfillment_statistics">, options?: RequestOptions): Promise<schema.FulfillmentStatistics>;
    /** Retrieve a fulfillment. Scope: `fulfillments:read`. */
    get(fulfillmentId: string, options?: RequestOptions): Promise<schema.FulfillmentView>;
    /** Cancel a fulfillment. Possible while it is pending. The cost becomes available again. Scope: `fulfillments:write`. */
    cancel(fulfillmentId: string, options?: RequestOptions): Promise<schema.FulfillmentView>;
}
export declare class Ledger extends Resource {
    /** List ledger entries. Newest first. Scope: `balances:read`. */
    list(query?: Query<"list_entries">, options?: RequestOptions): List<schema.EntryList, schema.EntryView>;
    /** Retrieve a ledger entry. Scope: `balances:read`. */
    get(entryId: string, options?: RequestOptions): Promise<schema.EntryView>;
}
export declare class PaymentLinks extends Resource {
    /** List payment links. Newest first. Scope: `payments:read`. */
    list(query?: Query<"list_links">, options?: RequestOptions): List<schema.LinkList, schema.LinkView>;
    /** Create a payment link. Scope: `payments:write`. */
    create(body: schema.LinkRequest, options?: RequestOptions): Promise<schema.LinkView>;
    /** Retrieve a payment link. Scope: `payments:read`. */
    get(linkId: string, options?: RequestOptions): Promise<schema.LinkView>;
    /** Change when an active payment link expires. It can be earlier or later. Scope: `payments:write`. */
    changeExpiry(linkId: string, body: schema.LinkExpiryRequest, options?: RequestOptions): Promise<schema.LinkView>;
    /** Cancel a payment link. Canceling it again changes nothing. Scope: `payments:write`. */
    cancel(linkId: string, options?: RequestOptions): Promise<schema.LinkView>;
}
export declare class PaymentMethods extends Resource {
    /** List payment methods. These are all of the hosted checkout; unavailable ones have a reason. Scope: `projects:read` or `settings:read`. */
    list(query?: Query<"list_methods">, options?: RequestOptions): List<schema.PaymentMethodList, schema.PaymentMethodView>;
}
export declare class Projects extends Resource {
    /** List approved projects. Newest first. Scope: `projects:read`. */
    list(query?: Query<"list_projects">, options?: RequestOptions): List<schema.ProjectList, schema.ProjectView>;
    /** Retrieve an approved project. Scope: `projects:read`. */
    get(projectId: string, options?: RequestOptions): Promise<schema.ProjectView>;
}
export declare class Proposals extends Resource {
    /** List proposals. Newest first, those of this connection or API key. */
    list(query?: Query<"list_proposals">, options?: RequestOptions): List<schema.ProposalList, schema.ProposalView>;
    /** Create a proposal. The operation runs when the merchant approves it. It needs the write scope of the operation. Scope: `withdrawals:write` or `payments:write` or `balance-payments:write` or `conversions:write` or `fulfillments:write`. */
    create(body: schema.NewProposal, options?: RequestOptions): Promise<schema.ProposalView>;
    /** Retrieve a proposal. */
    get(proposalId: string, options?: RequestOptions): Promise<schema.ProposalView>;
    /** Cancel a proposal. Possible while it waits. */
    cancel(proposalId: string, options?: RequestOptions): Promise<schema.ProposalView>;
}
export declare class Refunds extends Resource {
    /** List refunds. Newest first. Scope: `payments:read`. */
    list(query?: Query<"list_refunds">, options?: RequestOptions): List<schema.RefundList, schema.RefundView>;
    /** Retrieve a refund. Scope: `payments:read`. */
    get(refundId: string, options?: RequestOptions): Promise<schema.RefundView>;
}
export declare class Reports extends Resource {
    /** Retrieve a financial summary. It shows what changed the balances in a period, by currency, as JSON or CSV. Scope: `reports:read`. */
    financialSummary(query?: Omit<Query<"financial_summary">, "format">, options?: RequestOptions): Promise<schema.FinancialReport>;
}
export declare class RequestLog extends Resource {
    /** Read the request log. Requests of the last days, newest first, without what was sent and answered. Scope: `account:read`. */
    get(query?: Query<"read_request_log">, options?: RequestOptions): Promise<schema.OwnRequests>;
}
export declare class Settings extends Resource {
    /** Retrieve the withdrawal settings. They are those of the current environment. Scope: `settings:read`. */
    getWithdrawals(options?: RequestOptions): Promise<schema.WithdrawalSettingsView>;
    /** Update the withdrawal settings. `saved_recipients_only` is turned off only after a cooling time. Scope: `settings:write`. */
    updateWithdrawals(body: schema.NewWithdrawalSettings, options?: RequestOptions): Promise<schema.WithdrawalSettingsView>;
    /** Retrieve the settings. They are those of the current environment. Scope: `settings:read`. */
    get(options?: RequestOptions): Promise<schema.SettingsView>;
    /** Update the settings. Replaces those of the current environment. Needs the version that was read. Scope: `settings:write`. */
    update(body: schema.NewSettings, options?: RequestOptions): Promise<schema.SettingsView>;
}
export declare class Test extends Resource {
    /** Simulate a transaction. You decide what the customer and the bank do. Scope: `payments:write`. */
    simulateTransaction(transactionId: string, body: schema.Simulation, options?: RequestOptions): Promise<schema.TransactionView>;
    /** Simulate a payment of a link. Starts a transaction in the simulator, and simulates its outcome. Scope: `payments:write`. */
    simulatePaymentLink(linkId: string, body: schema.LinkSimulation, options?: RequestOptions): Promise<schema.TransactionView>;
    /** Simulate a refund. You decide what the operator and the bank do. Scope: `payments:write`. */
    simulateRefund(refundId: string, body: schema.RefundSimulation, options?: RequestOptions): Promise<schema.RefundView>;
    /** Add test funds to a balance. Scope: `payments:write`. */
    fundBalance(body: schema.Funding, options?: RequestOptions): Promise<schema.BalanceView>;
    /** Advance the test clock. Links that are due then expire. Scope: `payments:write`. */
    advanceClock(body: schema.ClockAdvance, options?: RequestOptions): Promise<schema.ClockView>;
    /** Simulate a withdrawal. You decide what the operator and the bank do. Scope: `withdrawals:write`. */
    simulateWithdrawal(withdrawalId: string, body: schema.WithdrawalSimulation, options?: RequestOptions): Promise<schema.WithdrawalView>;
    /** Simulate a fulfillment. You decide what the game server answers. Scope: `fulfillments:write`. */
    simulateFulfillment(fulfillmentId: string, body: schema.FulfillmentSimulation, options?: RequestOptions): Promise<schema.FulfillmentView>;
}
export declare class Transactions extends Resource {
    /** List transactions. Newest first. Scope: `payments:read`. */
    list(query?: Query<"list_transactions">, options?: RequestOptions): List<schema.TransactionList, schema.TransactionView>;
    /** Retrieve a transaction. Scope: `payments:read`. */
    get(transactionId: string, options?: RequestOptions): Promise<schema.TransactionView>;
    /** Accept a payment. It can be late, a duplicate, after a cancellation, or of another amount. Scope: `payments:write`. */
    accept(transactionId: string, options?: RequestOptions): Promise<schema.TransactionView>;
    /** List the refunds of a transaction. Newest first. Scope: `payments:read`. */
    listRefunds(transactionId: string, query?: Query<"list_refunds_of">, options?: RequestOptions): List<schema.RefundList, schema.RefundView>;
    /** Refund a payment. Refunds all that is left, or a part. By default it goes to the account that paid. Scope: `payments:write`. */
    createRefund(transactionId: string, body?: schema.NewRefund, options?: RequestOptions): Promise<schema.RefundView>;
}
export declare class Webhook extends Resource {
    /** Retrieve the webhook configuration. Null before the first PUT and after the end of compatibility. Scope: `webhooks:read`. */
    get(options?: RequestOptions): Promise<schema.WebhookConfiguration | null>;
    /** Save the webhook configuration. The first answer includes the new signing secret. Scope: `webhooks:write`. */
    save(body: schema.NewConfiguration, options?: RequestOptions): Promise<schema.WebhookConfiguration>;
    /** Turn off webhook delivery. Applies to the current environment. Scope: `webhooks:write`. */
    disable(options?: RequestOptions): Promise<schema.WebhookConfiguration | null>;
    /** Rotate the signing secret. The new value is returned once. Scope: `webhooks:write`. */
    rotateSecret(body?: schema.SigningSecretRotation, options?: RequestOptions): Promise<schema.SecretView>;
    /** Send a test event. It is signed, sent once to the given URL, and recorded. Scope: `webhooks:write`. */
    sendTest(body: schema.NewTestEvent, options?: RequestOptions): Promise<schema.EventView>;
}
export declare class WebhookEvents extends Resource {
    /** List events. They have their delivery status; newest first. Scope: `webhooks:read`. */
    list(query?: Query<"list_events">, options?: RequestOptions): List<schema.EventList, schema.EventView>;
    /** Retrieve an event. It has its delivery history. Scope: `webhooks:read`. */
    get(eventId: string, options?: RequestOptions): Promise<schema.EventWithHistory>;
    /** Redeliver an event. Scope: `webhooks:write`. */
    redeliver(eventId: string, options?: RequestOptions): Promise<schema.EventView>;
}
export declare class WithdrawalBatches extends Resource {
    /** List withdrawal batches. Newest first. Scope: `withdrawals:read`. */
    list(query?: Query<"list_batches">, options?: RequestOptions): List<schema.WithdrawalBatchList, schema.WithdrawalBatchView>;
    /** Create a withdrawal batch. All of its withdrawals are created and their amounts reserved, or none. Scope: `withdrawals:write`. */
    create(body: schema.NewBatch, options?: RequestOptions): Promise<schema.WithdrawalBatchView>;
    /** Retrieve a withdrawal batch. Scope: `withdrawals:read`. */
    get(batchId: string, options?: RequestOptions): Promise<schema.WithdrawalBatchView>;
}
export declare class WithdrawalMethods extends Resource {
    /** List withdrawal methods. Unavailable ones have a reason. Scope: `withdrawals:read`. */
    list(query?: Query<"list_withdrawal_methods">, options?: RequestOptions): List<schema.WithdrawalMethodList, schema.WithdrawalMethodView>;
}
export declare class WithdrawalQuotes extends Resource {
    /** Create a withdrawal quote. Its costs are guaranteed for one minute. No money is reserved. Scope: `withdrawals:read`. */
    create(body: schema.NewWithdrawalQuote, options?: RequestOptions): Promise<schema.WithdrawalQuoteView>;
}
export declare class WithdrawalRecipients extends Resource {
    /** List withdrawal recipients. Newest first. Scope: `withdrawals:read`. */
    list(query?: Query<"list_recipients">, options?: RequestOptions): List<schema.SavedRecipientList, schema.SavedRecipientView>;
    /** Create a withdrawal recipient. It can be paid from `active_at` on. In live mode, all users get an email. Scope: `withdrawals:write`. */
    create(body: schema.NewRecipient, options?: RequestOptions): Promise<schema.SavedRecipientView>;
    /** Retrieve a withdrawal recipient. Scope: `withdrawals:read`. */
    get(recipientId: string, options?: RequestOptions): Promise<schema.SavedRecipientView>;
    /** Delete a withdrawal recipient. Its withdrawals are kept. Scope: `withdrawals:write`. */
    delete(recipientId: string, options?: RequestOptions): Promise<schema.SavedRecipientView>;
}
export declare class WithdrawalSchedules extends Resource {
    /** List withdrawal schedules. Newest first. Scope: `withdrawals:read`. */
    list(query?: Query<"list_schedules">, options?: RequestOptions): List<schema.WithdrawalScheduleList, schema.WithdrawalScheduleView>;
    /** Create a withdrawal schedule. It withdraws to a saved recipient at a time, or every day, week or month. Scope: `withdrawals:write`. */
    create(body: schema.NewSchedule, options?: RequestOptions): Promise<schema.WithdrawalScheduleView>;
    /** Retrieve a withdrawal schedule. With its latest 100 runs. Scope: `withdrawals:read`. */
    get(scheduleId: string, options?: RequestOptions): Promise<schema.WithdrawalScheduleDetails>;
    /** End a withdrawal schedule. Its withdrawals are kept. Scope: `withdrawals:write`. */
    delete(scheduleId: string, options?: RequestOptions): Promise<schema.WithdrawalScheduleView>;
    /** Pause a withdrawal schedule. Its times pass without withdrawals. Scope: `withdrawals:write`. */
    pause(scheduleId: string, options?: RequestOptions): Promise<schema.WithdrawalScheduleView>;
    /** Resume a withdrawal schedule. It runs at its next time. Scope: `withdrawals:write`. */
    resume(scheduleId: string, options?: RequestOptions): Promise<schema.WithdrawalScheduleView>;
}
export declare class Withdrawals extends Resource {
    /** List withdrawals. Newest first. Scope: `withdrawals:read`. */
    list(query?: Query<"list_withdrawals">, options?: RequestOptions): List<schema.WithdrawalList, schema.WithdrawalView>;
    /** Create a withdrawal. The amount is reserved at once. In live mode an operator reviews it. Scope: `withdrawals:write`. */
    create(body: schema.NewWithdrawal, options?: RequestOptions): Promise<schema.WithdrawalView>;
    /** Retrieve a withdrawal. Scope: `withdrawals:read`. */
    get(withdrawalId: string, options?: RequestOptions): Promise<schema.WithdrawalView>;
    /** Cancel a withdrawal. Possible until it is sent. The amount becomes available again. Scope: `withdrawals:write`. */
    cancel(withdrawalId: string, options?: RequestOptions): Promise<schema.WithdrawalView>;
}
export declare class Resources {
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
    constructor(api: Api);
}
export {};
