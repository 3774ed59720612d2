// The client: all operations of the Integration API for one merchant and mode.
import { Api } from "./api.js";
import { consume, feed } from "./feed.js";
import { Resources } from "./resources.js";
import { Transport } from "./transport.js";
export class Tollhouse extends Resources {
    #api;
    constructor(options) {
        const credential = "apiKey" in options ? new ApiKey(options.apiKey) : options.connection;
        const api = new Api(new Transport(options.baseUrl, options), credential);
        super(api);
        this.#api = api;
    }
    /** The events in order, with `for await`. */
    feed(options) {
        return feed(this.#api, options);
    }
    /** Handle the events in order, from the stored checkpoint on, until `signal` ends it. */
    consume(handler, checkpoints, options) {
        return consume(this.#api, handler, checkpoints, options);
    }
}
class ApiKey {
    key;
    constructor(key) {
        this.key = key;
    }
    async headers() {
        return { "X-API-Key": this.key };
    }
    async renew() {
        return false;
    }
}
