-- Bodies in the request log are stored packed. Those of earlier versions go with their days.
ALTER TABLE api_requests ADD COLUMN request_body bytea, ADD COLUMN response_body bytea;
COMMENT ON COLUMN api_requests.asked IS 'the request body, as earlier versions stored it';
COMMENT ON COLUMN api_requests.answered IS 'the response body, as earlier versions stored it';
