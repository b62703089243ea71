import type { Editor, Event } from "../../store/index.ts"
import { emailWithLink } from "./contacts.ts"
import { factorsOf } from "./factors.ts"
import { inheritedByLink, noted, notedOrigin, type Origin, originOfLink } from "./origins.ts"
import type { Human, IdpLink, User } from "./state.ts"
import { isNobody } from "./verifier.ts"

/** What a person signs in with elsewhere, and how that came and went. */
export type LinkEvent =
  | Event<
      "user.human.externalidp.added",
      {
        readonly linkId: string
        readonly idpId: string
        /** Who said who they are there; the link holds for this alone. */
        readonly authority: string
        /** Whether the account came with it; that is no news to its person. */
        readonly isFirst?: boolean
        /** Who set up the provider, where it is an organization's. */
        readonly authors?: readonly string[]
      },
      { readonly externalId: string; readonly name: string }
    >
  | Event<"user.human.externalidp.removed", { readonly linkId: string }>

type Of<Type extends LinkEvent["type"]> = Extract<LinkEvent, { type: Type }> & {
  readonly id: string
  readonly time: number
  readonly version: number
  readonly editor: Editor
}

type Folds = {
  readonly [Type in LinkEvent["type"]]: (state: User, event: Omit<Of<Type>, "type">) => User
}

/** What these events make of a person; a part of the user's `evolve`. */
export const linkFolds: Folds = {
  "user.human.externalidp.added": (state, event) => {
    const { data, private: secret, time, editor } = event
    if (!isPerson(state) || !secret) return state
    const { linkId, idpId, authority } = data
    const links = [...linksOf(state), { linkId, idpId, authority, ...secret, added: time }]
    const email = emailWithLink(state, { data, editor })
    const origin = originOfLink(state, event)
    const person = { ...state, ...noted(state, "provider_link", { id: linkId, origin }) }
    const given = data.isFirst && isNobody(editor) ? notedFirst(person, event, origin) : {}
    return { ...person, links, email, changed: time, ...given }
  },
  // What signed in with it is over, as with any other factor that is taken away.
  "user.human.externalidp.removed": (state, { data, time, version }) => {
    if (!isPerson(state)) return state
    const links = linksOf(state).filter(({ linkId }) => linkId !== data.linkId)
    const factors = { ...factorsOf(state), removedIn: version }
    const origins = noted(state, "provider_link", { id: data.linkId })
    return { ...state, links, factors, changed: time, ...origins }
  },
}

type Added = Omit<Of<"user.human.externalidp.added">, "type">

/** The provider that an account is made by has said which addresses it begins with. */
function notedFirst(person: Human, event: Added, link: Origin | undefined) {
  const origin = inheritedByLink(link, event)
  const email = notedOrigin(person, "email") ? {} : noted(person, "email", { origin })
  if (!person.phone || notedOrigin(person, "phone")) return email
  return { ...email, ...noted({ ...person, ...email }, "phone", { origin }) }
}

const isPerson = (state: User): state is Human => "kind" in state && state.kind === "human"

/** The accounts that a person has elsewhere, oldest first; a service user has none. */
export const linksOf = (state: User): readonly IdpLink[] =>
  isPerson(state) ? (state.links ?? []) : []
