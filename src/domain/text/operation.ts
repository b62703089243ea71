import { contextOrg } from "../../kernel/context.ts"
import { details } from "../../protocol/api/answer.ts"
import { type MaskedRequest, selectionOf } from "../../protocol/api/mask.ts"
import type { Cx } from "../../store/index.ts"
import { type Found, findStandard, findText, type Place, resetText, setText } from "./commands.ts"
import type { Texts } from "./model.ts"
import type { Template } from "./template.ts"

/** How the messages of v1 say what a template says. */
type Forms<Requested, Shown> = {
  readonly read: (requested: Requested) => Texts
  readonly show: (texts: Texts) => Shown
}

/** The field of a request that holds a text: itself, or the block that it is in. */
const fieldOf = (name: string): string => name.split(".")[0] ?? name

const only = (texts: Texts, isWanted: (name: string) => boolean): Texts =>
  Object.fromEntries(Object.entries(texts).filter(([name]) => isWanted(name)))

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
    set: async (requested: OfLanguage & Requested & MaskedRequest, cx: Cx) => {
      const asked = { template, language: requested.language }
      const isSelected = selectionOf(requested)
      const said = read(requested)
      const say = (before: Texts) => ({
        ...only(before, (name) => !isSelected(fieldOf(name))),
        ...only(said, (name) => isSelected(fieldOf(name))),
      })
      const texts = requested.updateMask ? say : say({})
      return { details: details(await setText(cx, placeOf(cx), asked, texts)) }
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
