import { admin, auth, management } from "./binding/v1.ts"
import { admin as generators } from "./binding/v1-generator.ts"
import { v2 } from "./binding/v2.ts"

export { readLogin } from "./binding/v1-form.ts"

/** What this module answers of the book. */
export const shares = [admin, generators, management, auth, v2] as const
