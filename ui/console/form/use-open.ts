import { useState } from "react"
import { findDraft } from "./draft.ts"

/**
 * Which form of a family is open: a name chosen by the caller, or none. A form with a draft opens
 * again after a reload or sign-in. Its form must have the ID `formId(family, name)`.
 */
export function useOpenForm(family: string) {
  return useState<string | undefined>(() => findDraft(family))
}

export const formId = (family: string, name: string) => `${family}:${name}`
