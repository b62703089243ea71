import { useState } from "react"
import { draftOf } from "./draft.ts"

/**
 * Which form of a family is open: a name of the caller's choice, or none. One that was left with
 * something typed in it is open again after a reload or a sign-in. Its form has the id
 * `formId(family, name)`.
 */
export function useOpen(family: string) {
  return useState<string | undefined>(() => draftOf(family))
}

export const formId = (family: string, name: string) => `${family}:${name}`
