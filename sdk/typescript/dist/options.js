// What a client and a single request can be told.
export {};
