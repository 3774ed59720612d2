"""The projects and payment settings of a merchant in one environment, and the payment methods that they allow."""
