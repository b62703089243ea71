import { Fault } from "../../kernel/fault.ts"
import { pageLanguages } from "../../kernel/text/language.ts"
import type { Cx, Draft, Receipt, Transaction } from "../../store/index.ts"
import { isApplicable } from "../policy/index.ts"
import { customText, type TemplateRef, type TextEvent, type Texts } from "./model.ts"
import type { TextTemplate } from "./template.ts"

/** The organization that sets the text; undefined for the instance, whose texts are the default. */
export type TextOwner = string | undefined

/** The ID of an organization can be any text, so it is the last part. */
const idOf = (owner: TextOwner, { template, language }: TemplateRef): string =>
  `${template}/${language}/${owner === undefined ? "instance" : `org/${owner}`}`

const levelOf = (owner: TextOwner) => (owner === undefined ? "instance" : "org")

/** A template in one language. */
export type LocalizedTemplate = { readonly template: TextTemplate; readonly language: string }

/** Replaces the texts of a place; an empty text removes the entry. */
export const putText = (
  cx: Cx,
  owner: TextOwner,
  localized: LocalizedTemplate,
  input: Texts,
): Promise<Receipt> =>
  writeTexts(cx, owner, localized, (before) =>
    textEvents(owner, localized, { before, given: input }),
  )

/**
 * Sets texts, or texts derived from the current ones, whose authors are kept; throws if nothing
 * changes.
 */
export const setText = (
  cx: Cx,
  owner: TextOwner,
  localized: LocalizedTemplate,
  input: Texts | ((before: Texts) => Texts),
): Promise<Receipt> =>
  writeTexts(cx, owner, localized, (before) => {
    const texts = typeof input === "function" ? input(before ?? {}) : input
    const isPartial = typeof input === "function"
    const drafts = textEvents(owner, localized, { before, given: texts, isPartial })
    if (drafts.length === 0) throw unchangedError()
    return drafts
  })

type TextChange = {
  readonly before: Texts | undefined
  readonly given: Texts
  readonly isPartial?: boolean
}

function textEvents(
  owner: TextOwner,
  localized: LocalizedTemplate,
  { before, given: input, isPartial = false }: TextChange,
): readonly Draft<TextEvent>[] {
  const texts = Object.fromEntries(Object.entries(input).filter(([, text]) => text !== ""))
  for (const [key, text] of Object.entries(texts)) localized.template.validate(key, text)
  if (JSON.stringify(sortTexts(texts)) === JSON.stringify(sortTexts(before ?? {}))) return []
  const data = refOf(localized)
  if (Object.keys(texts).length === 0) return [removedEvent(owner, data)]
  const set = { ...data, ...(isPartial && { isPartial }) }
  return [{ type: `${levelOf(owner)}.customtext.set`, data: set, private: { texts } }]
}

/** Resets the texts of a place; those of the level above apply again. */
export const resetText = (
  cx: Cx,
  owner: TextOwner,
  localized: LocalizedTemplate,
): Promise<Receipt> =>
  writeTexts(cx, owner, localized, (before) => {
    if (!before) throw nothingToResetError()
    return [removedEvent(owner, refOf(localized))]
  })

/** Deletes the texts of an organization with these template names. */
export function dropTexts(tx: Transaction, orgId: string, names: readonly string[]): void {
  for (const template of names) {
    for (const language of pageLanguages) {
      const id = idOf(orgId, { template, language })
      const { texts } = tx.state(customText, id)
      if (texts) tx.append(customText, id, [removedEvent(orgId, { template, language })])
    }
  }
}

/** The texts are also erased, because the organization may require it. */
const removedEvent = (owner: TextOwner, data: TemplateRef): Draft<TextEvent> => ({
  type: `${levelOf(owner)}.customtext.template.removed`,
  data,
  erase: {},
})

async function writeTexts(
  cx: Cx,
  owner: TextOwner,
  localized: LocalizedTemplate,
  decide: (before: Texts | undefined) => readonly Draft<TextEvent>[],
): Promise<Receipt> {
  validateLanguage(localized.language)
  const id = idOf(owner, refOf(localized))
  const step = await cx.store.transact(cx, (tx) =>
    tx.append(customText, id, decide(tx.state(customText, id).texts), owner ?? cx.instance),
  )
  return step.receipt(customText, id)
}

const refOf = ({ template, language }: LocalizedTemplate): TemplateRef => ({
  template: template.name,
  language,
})

const sortTexts = (texts: Texts) => Object.entries(texts).toSorted(([a], [b]) => (a < b ? -1 : 1))

/** The complete texts of a template at a place, and their source. */
export type EffectiveTexts = {
  readonly texts: Texts
  /** Whether the place has no texts of its own. */
  readonly isDefault: boolean
  /** The receipt of the texts; version 0 if none were set. */
  readonly receipt: Pick<Receipt, "version" | "created" | "changed" | "owner">
}

/** The texts of a template at a place. */
export function findText(cx: Cx, owner: TextOwner, localized: LocalizedTemplate): EffectiveTexts {
  validateLanguage(localized.language)
  const ref = refOf(localized)
  const own = owner === undefined ? undefined : customTextsAt(cx, owner, ref)
  const above = customTextsAt(cx, undefined, ref)
  const receipt =
    (own ?? above) ? cx.store.receipt(cx, customText, idOf(own && owner, ref)) : undefined
  return {
    texts: { ...localized.template.defaults(localized.language), ...above, ...own },
    isDefault: (owner === undefined ? above : own) === undefined,
    receipt: receipt ?? { version: 0, created: 0, changed: 0, owner: cx.instance },
  }
}

/** The default texts of a template. */
export function findDefault(cx: Cx, { template, language }: LocalizedTemplate): EffectiveTexts {
  validateLanguage(language)
  const position = { version: 0, created: 0, changed: 0, owner: cx.instance }
  return { texts: template.defaults(language), isDefault: true, receipt: position }
}

/** The texts that a place itself has set for a template; undefined if none. */
export const customTextsAt = (
  cx: Pick<Cx, "store" | "instance">,
  owner: TextOwner,
  ref: TemplateRef,
) => cx.store.state(cx, customText, idOf(owner, ref)).texts

/** The place of the texts for a user: not the organization if the user outranks an author. */
export function placeFor(
  cx: Cx,
  { userId, orgId }: { readonly userId: string; readonly orgId: string },
  { template, language }: LocalizedTemplate,
): TextOwner {
  if (orgId === "") return undefined
  const ref = { template: template.name, language }
  const { texts, authors = [] } = cx.store.state(cx, customText, idOf(orgId, ref))
  return texts && isApplicable(cx, userId, authors) ? orgId : undefined
}

export function validateLanguage(language: string): void {
  if (pageLanguages.includes(language)) return
  const message = `language must be one of: ${pageLanguages.join(", ")}`
  throw new Fault("invalid_argument", "text.language_unknown", message)
}

const nothingToResetError = () =>
  new Fault("not_found", "text.missing", "nothing to reset: there are no custom texts")

const unchangedError = () =>
  new Fault("failed_precondition", "text.unchanged", "nothing to update: the texts are unchanged")
