import { admin, management } from "./binding/v1.ts"
import { settings, v2 } from "./binding/v2.ts"

export { optionsOf, shownOptions } from "./binding/v1-form.ts"

/** What this module answers of the book. */
export const shares = [admin, management, v2, settings] as const
