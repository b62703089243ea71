import { v2 } from "./binding/v2.ts"

/** What the authorization server answers of the book. */
export const shares = [v2] as const
