// Paths with values in them.
/** A path whose values are encoded. A value that would change the path is refused. */
export function path(parts, ...values) {
    return parts.reduce((start, part, index) => {
        const value = values[index - 1] ?? "";
        if (value === "" || value === "." || value === "..") {
            throw new TypeError(`"${value}" is not an ID.`);
        }
        return start + encodeURIComponent(value) + part;
    });
}
