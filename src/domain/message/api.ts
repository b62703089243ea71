/** What this module answers of the book. */
export const shares = [] as const
