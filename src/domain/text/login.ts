import { complaintOf, isTextKey, texts } from "../../../ui/login/texts/index.ts"
import { refusedError } from "./bound.ts"
import { loginFields } from "./field/login.ts"
import { loginNames } from "./login-words.ts"
import type { Texts } from "./model.ts"
import { checkPlaceholders } from "./placeholder.ts"
import type { Template } from "./template.ts"

const standardOf = (language: string): Texts => ({ ...texts.en, ...textsIn(language) })

const textsIn = (language: string): Texts | undefined =>
  Object.entries(texts).find(([each]) => each === language)?.[1]

const keyOf = (text: string): string => text.slice(text.lastIndexOf("/") + 1)

/** The longest text of v1, and of a page, whose plural forms take more. */
const [fieldMax, keyMax] = [500, 1000]

/** What the login pages say, by the fields of v1: plain text without values. */
export const fieldTemplate: Template = {
  name: loginNames.fields,
  standard: (language) => {
    const spoken = standardOf(language)
    return Object.fromEntries(
      Object.entries(loginFields).map(([field, [key]]) => [field, spoken[keyOf(key)] ?? ""]),
    )
  },
  check: (field, text) => {
    mustBePlain(field, text, fieldMax)
    checkPlaceholders(field, text, [])
  },
}

/** The same by the keys of the pages, as MessageFormat 2, with the values that each has. */
export const keyTemplate: Template = {
  name: loginNames.keys,
  standard: standardOf,
  check: (key, text) => {
    if (!isTextKey(key)) throw refusedError(`the login pages have no text ${JSON.stringify(key)}`)
    mustBePlain(key, text, keyMax)
    const complaint = complaintOf(key, text)
    if (complaint) throw refusedError(`${key} ${complaint}`)
  },
}

function mustBePlain(key: string, text: string, max: number): void {
  if (text.length > max) throw refusedError(`${key} may have at most ${max} characters`)
  if (/[^\P{Cc}\n]/u.test(text)) throw refusedError(`${key} must be plain text`)
}
