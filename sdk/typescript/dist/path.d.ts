/** A path whose values are encoded. A value that would change the path is refused. */
export declare function path(parts: TemplateStringsArray, ...values: string[]): string;
