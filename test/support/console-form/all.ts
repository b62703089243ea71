import { applicationForms } from "./application.ts"
import type { FormCase } from "./case.ts"
import { instanceForms } from "./instance.ts"
import { resourceForms } from "./resource.ts"

/**
 * The concurrent edits of two administrators in every form of the console that changes something.
 */
export const formCases: readonly FormCase[] = [
  ...applicationForms,
  ...instanceForms,
  ...resourceForms,
]
