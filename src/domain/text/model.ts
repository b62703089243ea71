import { aggregate, type Event } from "../../store/index.ts"
import { authorsAfter, type PartialUpdate } from "../policy/index.ts"

/** The level of a text: the instance or one organization. */
type Level = "instance" | "org"

/** The template and language in an event, which the ID of the stream also contains. */
export type TemplateRef = { readonly template: string; readonly language: string }

/** Texts by the keys of their template; missing ones are inherited. */
export type Texts = Readonly<Record<string, string>>

type SetType = `${Level}.customtext.set`

type RemovedType = `${Level}.customtext.template.removed`

export type TextEvent =
  | {
      [Type in SetType]: Event<Type, TemplateRef & PartialUpdate, { readonly texts: Texts }>
    }[SetType]
  | { [Type in RemovedType]: Event<Type, TemplateRef> }[RemovedType]

/** The texts of one owner for one template in one language; absent if there are none. */
export type CustomText = {
  readonly texts?: Texts
  /** The users who set the texts. */
  readonly authors?: readonly string[]
}

type RecordedSet = {
  readonly data: PartialUpdate
  readonly private: { readonly texts: Texts } | null
  readonly editor: { readonly user: string }
}

const withTexts = (
  { authors = [] }: CustomText,
  { data, private: secret, editor }: RecordedSet,
): CustomText =>
  secret ? { texts: secret.texts, authors: authorsAfter(authors, editor.user, data) } : {}

const withoutTexts = (): CustomText => ({})

/** One stream per owner, template and language, so that events stay small. */
export const customText = aggregate<TextEvent, CustomText>({
  stream: "customtext",
  part: () => "texts",
  revision: 3,
  initial: {},
  evolve: {
    "instance.customtext.set": withTexts,
    "instance.customtext.template.removed": withoutTexts,
    "org.customtext.set": withTexts,
    "org.customtext.template.removed": withoutTexts,
  },
})
