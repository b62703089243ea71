import { isTextKey, textProblemOf, texts } from "../../../ui/login/texts/index.ts"
import { loginFields } from "./field/login.ts"
import { invalidTextError } from "./invalid-text.ts"
import { loginNames } from "./login-texts.ts"
import type { Texts } from "./model.ts"
import { validatePlaceholders } from "./placeholder.ts"
import type { TextTemplate } from "./template.ts"

const defaultTextsOf = (language: string): Texts => ({ ...texts.en, ...textsIn(language) })

const textsIn = (language: string): Texts | undefined =>
  Object.entries(texts).find(([each]) => each === language)?.[1]

const keyOf = (text: string): string => text.slice(text.lastIndexOf("/") + 1)

/** The maximum length of a text of v1, and of a page text, which can contain plural forms. */
const [fieldMax, keyMax] = [500, 1000]

/** The texts of the login pages by the fields of v1: plain text without placeholders. */
export const fieldTemplate: TextTemplate = {
  name: loginNames.fields,
  defaults: (language) => {
    const spoken = defaultTextsOf(language)
    return Object.fromEntries(
      Object.entries(loginFields).map(([field, [key]]) => [field, spoken[keyOf(key)] ?? ""]),
    )
  },
  validate: (field, text) => {
    validatePlainText(field, text, fieldMax)
    validatePlaceholders(field, text, [])
  },
}

/** The texts by the keys of the pages, in MessageFormat 2 with their placeholders. */
export const keyTemplate: TextTemplate = {
  name: loginNames.keys,
  defaults: defaultTextsOf,
  validate: (key, text) => {
    if (!isTextKey(key)) throw invalidTextError(`login text ${JSON.stringify(key)} not found`)
    validatePlainText(key, text, keyMax)
    const complaint = textProblemOf(key, text)
    if (complaint) throw invalidTextError(`${key} ${complaint}`)
  },
}

function validatePlainText(key: string, text: string, max: number): void {
  if (text.length > max) throw invalidTextError(`${key} must be at most ${max} characters`)
  if (/[^\P{Cc}\n]/u.test(text)) throw invalidTextError(`${key} must be plain text`)
}
