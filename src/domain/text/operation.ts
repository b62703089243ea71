import { details } from "../../kernel/answer.ts"
import { contextOrg } from "../../kernel/context.ts"
import type { Cx } from "../../store/index.ts"
import { type Found, findStandard, findText, type Place, resetText, setText } from "./commands.ts"
import type { Texts } from "./model.ts"
import type { Template } from "./template.ts"

/** How the messages of v1 say what a template says. */
type Forms<Requested, Shown> = {
  readonly read: (requested: Requested) => Texts
  readonly show: (texts: Texts) => Shown
}

type OfLanguage = { readonly language: string }

/** What v1 does with one template; it is the same with each. */
export function operationsOf<Requested, Shown>(
  template: Template,
  { read, show }: Forms<Requested, Shown>,
) {
  const shown = ({ texts, isDefault, stand }: Found) => ({
    customText: { ...show(texts), isDefault, details: details(stand) },
  })
  const at = (placeOf: (cx: Cx) => Place) => ({
    get: ({ language }: OfLanguage, cx: Cx) =>
      shown(findText(cx, placeOf(cx), { template, language })),
    set: async (requested: OfLanguage & Requested, cx: Cx) => {
      const asked = { template, language: requested.language }
      return { details: details(await setText(cx, placeOf(cx), asked, read(requested))) }
    },
    reset: async ({ language }: OfLanguage, cx: Cx) => ({
      details: details(await resetText(cx, placeOf(cx), { template, language })),
    }),
  })
  return {
    instance: {
      ...at(() => undefined),
      /** What is said where nobody says anything else. */
      standard: ({ language }: OfLanguage, cx: Cx) =>
        shown(findStandard(cx, { template, language })),
    },
    /** Of the organisation of the context. */
    org: at(contextOrg),
  }
}
