import type { Editor, Event } from "../../store/index.ts"
import { emailWithLink } from "./contacts.ts"
import { factorsOf } from "./factors.ts"
import {
  inheritLinkOrigin,
  linkOrigin,
  type Origin,
  recordedOrigin,
  withOriginOf,
} from "./origins.ts"
import type { Human, IdpLink, User } from "./state.ts"
import { isAnonymous } from "./verifier.ts"

/** Events of external accounts of a user. */
export type LinkEvent =
  | Event<
      "user.human.externalidp.added",
      {
        readonly linkId: string
        readonly idpId: string
        /** The authority that identified the account; the link is bound to it. */
        readonly authority: string
        /** Whether the user was created with it; then no notification is sent. */
        readonly isFirst?: boolean
        /** The authors of the provider, if it belongs to an organization. */
        readonly authors?: readonly string[]
      },
      { readonly externalId: string; readonly name: string }
    >
  | Event<"user.human.externalidp.removed", { readonly linkId: string }>

type EventInput<Type extends LinkEvent["type"]> = Extract<LinkEvent, { type: Type }> & {
  readonly id: string
  readonly time: number
  readonly version: number
  readonly editor: Editor
}

type LinkReducers = {
  readonly [Type in LinkEvent["type"]]: (state: User, event: Omit<EventInput<Type>, "type">) => User
}

/** Reducers for these events; part of the user's `evolve`. */
export const linkReducers: LinkReducers = {
  "user.human.externalidp.added": (state, event) => {
    const { data, private: secret, time, editor } = event
    if (!isHuman(state) || !secret) return state
    const { linkId, idpId, authority } = data
    const links = [...linksOf(state), { linkId, idpId, authority, ...secret, added: time }]
    const email = emailWithLink(state, { data, editor })
    const origin = linkOrigin(state, event)
    const person = { ...state, ...withOriginOf(state, "provider_link", { id: linkId, origin }) }
    const withContacts =
      data.isFirst && isAnonymous(editor) ? withContactOrigins(person, event, origin) : {}
    return { ...person, links, email, changed: time, ...withContacts }
  },
  // Ends sessions that it authenticated, like the removal of any factor.
  "user.human.externalidp.removed": (state, { data, time, version }) => {
    if (!isHuman(state)) return state
    const links = linksOf(state).filter(({ linkId }) => linkId !== data.linkId)
    const factors = { ...factorsOf(state), removedIn: version }
    const origins = withOriginOf(state, "provider_link", { id: data.linkId })
    return { ...state, links, factors, changed: time, ...origins }
  },
}

type AddedEvent = Omit<EventInput<"user.human.externalidp.added">, "type">

/** The provider that an account was created with determined its initial addresses. */
function withContactOrigins(person: Human, event: AddedEvent, link: Origin | undefined) {
  const origin = inheritLinkOrigin(link, event)
  const email = recordedOrigin(person, "email") ? {} : withOriginOf(person, "email", { origin })
  if (!person.phone || recordedOrigin(person, "phone")) return email
  return { ...email, ...withOriginOf({ ...person, ...email }, "phone", { origin }) }
}

const isHuman = (state: User): state is Human => "kind" in state && state.kind === "human"

/** External accounts of a user, oldest first; service accounts have none. */
export const linksOf = (state: User): readonly IdpLink[] =>
  isHuman(state) ? (state.links ?? []) : []
