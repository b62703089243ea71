import { applicationForms } from "./application.ts"
import type { FormCase } from "./case.ts"
import { instanceForms } from "./instance.ts"
import { thingForms } from "./thing.ts"

/** What two administrators do at once, in every form of the console that changes something. */
export const formCases: readonly FormCase[] = [...applicationForms, ...instanceForms, ...thingForms]
