// Change these two: the service, and the client ID of your application.
export const baseUrl = "http://localhost:8000";
export const clientId = "thc_…";
export const mode = "test";
