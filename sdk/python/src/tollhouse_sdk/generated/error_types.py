"""A class for each error code of the API. Made by `just records` from the API reference."""

from tollhouse_sdk.errors import ApiError as ApiError
from tollhouse_sdk.errors import EventsExpired as EventsExpired
from tollhouse_sdk.errors import FeedReset as FeedReset


class AccessDenied(ApiError):
    """The error code `access_denied`."""

    code = "access_denied"


class AccountSuspended(ApiError):
    """The error code `account_suspended`."""

    code = "account_suspended"


class AddressChangedRecently(ApiError):
    """The error code `address_changed_recently`."""

    code = "address_changed_recently"


class AlreadyMember(ApiError):
    """The error code `already_member`."""

    code = "already_member"


class AmountAboveMaximum(ApiError):
    """The error code `amount_above_maximum`."""

    code = "amount_above_maximum"


class AmountBelowFees(ApiError):
    """The error code `amount_below_fees`."""

    code = "amount_below_fees"


class AmountBelowMinimum(ApiError):
    """The error code `amount_below_minimum`."""

    code = "amount_below_minimum"


class ApplicationChanged(ApiError):
    """The error code `application_changed`."""

    code = "application_changed"


class ApplicationRequired(ApiError):
    """The error code `application_required`."""

    code = "application_required"


class ApplicationRevoked(ApiError):
    """The error code `application_revoked`."""

    code = "application_revoked"


class ApplicationSuspended(ApiError):
    """The error code `application_suspended`."""

    code = "application_suspended"


class AuthenticationRequired(ApiError):
    """The error code `authentication_required`."""

    code = "authentication_required"


class AuthorizationPending(ApiError):
    """The error code `authorization_pending`."""

    code = "authorization_pending"


class BalanceLimitExceeded(ApiError):
    """The error code `balance_limit_exceeded`."""

    code = "balance_limit_exceeded"


class ChallengeExpired(ApiError):
    """The error code `challenge_expired`."""

    code = "challenge_expired"


class ConfidentialClientRequired(ApiError):
    """The error code `confidential_client_required`."""

    code = "confidential_client_required"


class ConnectionEnded(ApiError):
    """The error code `connection_ended`."""

    code = "connection_ended"


class ConnectionLimitExceeded(ApiError):
    """The error code `connection_limit_exceeded`."""

    code = "connection_limit_exceeded"


class ConversionRuleChanged(ApiError):
    """The error code `conversion_rule_changed`."""

    code = "conversion_rule_changed"


class ConversionRuleConflict(ApiError):
    """The error code `conversion_rule_conflict`."""

    code = "conversion_rule_conflict"


class CrossOriginForbidden(ApiError):
    """The error code `cross_origin_forbidden`."""

    code = "cross_origin_forbidden"


class CurrencyNotSupported(ApiError):
    """The error code `currency_not_supported`."""

    code = "currency_not_supported"


class DailyLimitExceeded(ApiError):
    """The error code `daily_limit_exceeded`."""

    code = "daily_limit_exceeded"


class DeprecatedWebhookRemoved(ApiError):
    """The error code `deprecated_webhook_removed`."""

    code = "deprecated_webhook_removed"


class DestinationRefused(ApiError):
    """The error code `destination_refused`."""

    code = "destination_refused"


class DestinationWaits(ApiError):
    """The error code `destination_waits`."""

    code = "destination_waits"


class DuplicateExternalId(ApiError):
    """The error code `duplicate_external_id`."""

    code = "duplicate_external_id"


class EmailTaken(ApiError):
    """The error code `email_taken`."""

    code = "email_taken"


class EmailUnverified(ApiError):
    """The error code `email_unverified`."""

    code = "email_unverified"


class EverythingStops(ApiError):
    """The error code `everything_stops`."""

    code = "everything_stops"


class ExpiredToken(ApiError):
    """The error code `expired_token`."""

    code = "expired_token"


class IdempotencyInProgress(ApiError):
    """The error code `idempotency_in_progress`."""

    code = "idempotency_in_progress"


class IdempotencyKeyInvalid(ApiError):
    """The error code `idempotency_key_invalid`."""

    code = "idempotency_key_invalid"


class IdempotencyKeyRequired(ApiError):
    """The error code `idempotency_key_required`."""

    code = "idempotency_key_required"


class IdempotencyKeyReused(ApiError):
    """The error code `idempotency_key_reused`."""

    code = "idempotency_key_reused"


class InsufficientFunds(ApiError):
    """The error code `insufficient_funds`."""

    code = "insufficient_funds"


class InvalidApiKey(ApiError):
    """The error code `invalid_api_key`."""

    code = "invalid_api_key"


class InvalidAuthorizationDetails(ApiError):
    """The error code `invalid_authorization_details`."""

    code = "invalid_authorization_details"


class InvalidClient(ApiError):
    """The error code `invalid_client`."""

    code = "invalid_client"


class InvalidCode(ApiError):
    """The error code `invalid_code`."""

    code = "invalid_code"


class InvalidCredentials(ApiError):
    """The error code `invalid_credentials`."""

    code = "invalid_credentials"


class InvalidDpopProof(ApiError):
    """The error code `invalid_dpop_proof`."""

    code = "invalid_dpop_proof"


class InvalidGrant(ApiError):
    """The error code `invalid_grant`."""

    code = "invalid_grant"


class InvalidPasskey(ApiError):
    """The error code `invalid_passkey`."""

    code = "invalid_passkey"


class InvalidProject(ApiError):
    """The error code `invalid_project`."""

    code = "invalid_project"


class InvalidReceiver(ApiError):
    """The error code `invalid_receiver`."""

    code = "invalid_receiver"


class InvalidRequest(ApiError):
    """The error code `invalid_request`."""

    code = "invalid_request"


class InvalidRequestUri(ApiError):
    """The error code `invalid_request_uri`."""

    code = "invalid_request_uri"


class InvalidScope(ApiError):
    """The error code `invalid_scope`."""

    code = "invalid_scope"


class InvalidState(ApiError):
    """The error code `invalid_state`."""

    code = "invalid_state"


class InvalidTarget(ApiError):
    """The error code `invalid_target`."""

    code = "invalid_target"


class InvalidToken(ApiError):
    """The error code `invalid_token`."""

    code = "invalid_token"


class InvitationOfAnother(ApiError):
    """The error code `invitation_of_another`."""

    code = "invitation_of_another"


class InvitationOver(ApiError):
    """The error code `invitation_over`."""

    code = "invitation_over"


class LastOwner(ApiError):
    """The error code `last_owner`."""

    code = "last_owner"


class LastSecondFactor(ApiError):
    """The error code `last_second_factor`."""

    code = "last_second_factor"


class MethodUnavailable(ApiError):
    """The error code `method_unavailable`."""

    code = "method_unavailable"


class MissingScope(ApiError):
    """The error code `missing_scope`."""

    code = "missing_scope"


class NetworkNotAllowed(ApiError):
    """The error code `network_not_allowed`."""

    code = "network_not_allowed"


class NoMembership(ApiError):
    """The error code `no_membership`."""

    code = "no_membership"


class NoSecondMember(ApiError):
    """The error code `no_second_member`."""

    code = "no_second_member"


class NotFound(ApiError):
    """The error code `not_found`."""

    code = "not_found"


class NotSecondMember(ApiError):
    """The error code `not_second_member`."""

    code = "not_second_member"


class OwnersWait(ApiError):
    """The error code `owners_wait`."""

    code = "owners_wait"


class PageTooDeep(ApiError):
    """The error code `page_too_deep`."""

    code = "page_too_deep"


class PairUnavailable(ApiError):
    """The error code `pair_unavailable`."""

    code = "pair_unavailable"


class PasskeyCopied(ApiError):
    """The error code `passkey_copied`."""

    code = "passkey_copied"


class PasskeyExists(ApiError):
    """The error code `passkey_exists`."""

    code = "passkey_exists"


class PasskeysUnavailable(ApiError):
    """The error code `passkeys_unavailable`."""

    code = "passkeys_unavailable"


class PayerSuspended(ApiError):
    """The error code `payer_suspended`."""

    code = "payer_suspended"


class PayloadTooLarge(ApiError):
    """The error code `payload_too_large`."""

    code = "payload_too_large"


class PaymentChargedBack(ApiError):
    """The error code `payment_charged_back`."""

    code = "payment_charged_back"


class PriceChanged(ApiError):
    """The error code `price_changed`."""

    code = "price_changed"


class ProductUnavailable(ApiError):
    """The error code `product_unavailable`."""

    code = "product_unavailable"


class ProposalRequired(ApiError):
    """The error code `proposal_required`."""

    code = "proposal_required"


class QuoteAlreadyUsed(ApiError):
    """The error code `quote_already_used`."""

    code = "quote_already_used"


class QuoteExpired(ApiError):
    """The error code `quote_expired`."""

    code = "quote_expired"


class RateLimited(ApiError):
    """The error code `rate_limited`."""

    code = "rate_limited"


class ReceiverRequired(ApiError):
    """The error code `receiver_required`."""

    code = "receiver_required"


class RecentAuthenticationRequired(ApiError):
    """The error code `recent_authentication_required`."""

    code = "recent_authentication_required"


class RecipientExists(ApiError):
    """The error code `recipient_exists`."""

    code = "recipient_exists"


class RecipientNotActive(ApiError):
    """The error code `recipient_not_active`."""

    code = "recipient_not_active"


class RecipientNotSaved(ApiError):
    """The error code `recipient_not_saved`."""

    code = "recipient_not_saved"


class RefundAmountExceedsRemaining(ApiError):
    """The error code `refund_amount_exceeds_remaining`."""

    code = "refund_amount_exceeds_remaining"


class RefundLimitReached(ApiError):
    """The error code `refund_limit_reached`."""

    code = "refund_limit_reached"


class RefundNotAllowed(ApiError):
    """The error code `refund_not_allowed`."""

    code = "refund_not_allowed"


class RoleForbidden(ApiError):
    """The error code `role_forbidden`."""

    code = "role_forbidden"


class SecondFactorChanged(ApiError):
    """The error code `second_factor_changed`."""

    code = "second_factor_changed"


class SecondFactorMissing(ApiError):
    """The error code `second_factor_missing`."""

    code = "second_factor_missing"


class SecondFactorRequired(ApiError):
    """The error code `second_factor_required`."""

    code = "second_factor_required"


class SecondMemberRequired(ApiError):
    """The error code `second_member_required`."""

    code = "second_member_required"


class SelfPaymentNotAllowed(ApiError):
    """The error code `self_payment_not_allowed`."""

    code = "self_payment_not_allowed"


class ServerError(ApiError):
    """The error code `server_error`."""

    code = "server_error"


class SettingsChanged(ApiError):
    """The error code `settings_changed`."""

    code = "settings_changed"


class SignupClosed(ApiError):
    """The error code `signup_closed`."""

    code = "signup_closed"


class SlowDown(ApiError):
    """The error code `slow_down`."""

    code = "slow_down"


class TemporarilyUnavailable(ApiError):
    """The error code `temporarily_unavailable`."""

    code = "temporarily_unavailable"


class TestModeOnly(ApiError):
    """The error code `test_mode_only`."""

    code = "test_mode_only"


class TooManyInvitations(ApiError):
    """The error code `too_many_invitations`."""

    code = "too_many_invitations"


class TooManyNotes(ApiError):
    """The error code `too_many_notes`."""

    code = "too_many_notes"


class TooManyPasskeys(ApiError):
    """The error code `too_many_passkeys`."""

    code = "too_many_passkeys"


class TooManyProposals(ApiError):
    """The error code `too_many_proposals`."""

    code = "too_many_proposals"


class TooManyRecipients(ApiError):
    """The error code `too_many_recipients`."""

    code = "too_many_recipients"


class TooManySchedules(ApiError):
    """The error code `too_many_schedules`."""

    code = "too_many_schedules"


class UnauthorizedClient(ApiError):
    """The error code `unauthorized_client`."""

    code = "unauthorized_client"


class UnsupportedGrantType(ApiError):
    """The error code `unsupported_grant_type`."""

    code = "unsupported_grant_type"


class UnsupportedMediaType(ApiError):
    """The error code `unsupported_media_type`."""

    code = "unsupported_media_type"


class UnsupportedResponseType(ApiError):
    """The error code `unsupported_response_type`."""

    code = "unsupported_response_type"


class UserVerificationRequired(ApiError):
    """The error code `user_verification_required`."""

    code = "user_verification_required"


class ValidationFailed(ApiError):
    """The error code `validation_failed`."""

    code = "validation_failed"


class WebhookDeliveryDisabled(ApiError):
    """The error code `webhook_delivery_disabled`."""

    code = "webhook_delivery_disabled"


class WebhookDestinationMissing(ApiError):
    """The error code `webhook_destination_missing`."""

    code = "webhook_destination_missing"


class WebhookSecretMissing(ApiError):
    """The error code `webhook_secret_missing`."""

    code = "webhook_secret_missing"


class WrongOrigin(ApiError):
    """The error code `wrong_origin`."""

    code = "wrong_origin"
