import { admin } from "./binding/v1.ts"

/** What this module answers of the book. */
export const shares = [admin] as const
