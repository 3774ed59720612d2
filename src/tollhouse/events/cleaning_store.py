"""SQL of the months of events: what of them is still to be sent."""

OLDEST_PENDING = """
    SELECT least((SELECT event_id FROM webhook_deliveries ORDER BY event_id LIMIT 1),
                 (SELECT event_id FROM webhook_deliveries_later ORDER BY event_id LIMIT 1)) AS event_id
"""
