import type { Editor } from "../../store/index.ts"

/** Another user who created what a user signs in with, or can begin to, and when, ms UTC. */
export type Origin = {
  /** Empty where only the authors of the providers can have created it. */
  readonly by: string
  readonly at: number
  /** Whether the user or nobody created it while `by` could sign in as the user. */
  readonly isInherited?: boolean
  /** Further users who could sign in as the user when it was created. */
  readonly others?: readonly string[]
  /** Providers that could sign in as the user when it was created, whoever their authors are. */
  readonly idpIds?: readonly string[]
  /** When a code expires, ms UTC. */
  readonly expires?: number
}

/** By kind and ID; absent for what the user created, and where others created nothing. */
export type WithOrigins = { readonly origins?: Readonly<Record<string, Origin>> }

/** The same of a person, with the providers that can sign in as them. */
type WithLinks = WithOrigins & { readonly links?: readonly { readonly idpId: string }[] }

/** What a user signs in with, or can begin to. */
export const credentialKinds = [
  ...(["password", "password_code", "invitation", "passkey", "passkey_code"] as const),
  ...(["security_key", "provider_link", "service_key", "client_secret", "access_token"] as const),
  ...(["email", "phone"] as const),
] as const
export type CredentialKind = (typeof credentialKinds)[number]

type Creation = { readonly id: string; readonly editor: Editor; readonly time: number }

/** Who created something by an event; undefined for the user, and where nobody is signed in. */
export const originOf = ({ id, editor: { user: by }, time }: Creation): Origin | undefined =>
  by === "" || by === id ? undefined : { by, at: time }

/** The same of a service user, whose own keys may be made with one that somebody else holds. */
export const originOfMachine = ({ editor: { user: by }, time }: Creation): Origin | undefined =>
  by === "" ? undefined : { by, at: time }

/** Who can have created something. */
type Sources = { readonly creators?: readonly string[]; readonly idpIds?: readonly string[] }

const sourcesOf = (...origins: readonly (Origin | undefined)[]): Required<Sources> => ({
  creators: origins.flatMap(creatorsOf),
  idpIds: origins.flatMap((origin) => origin?.idpIds ?? []),
})

/**
 * Who created something of a person by an event. Other users who can sign in as the person at that
 * time can have created what the person did, and what nobody did who is signed in.
 */
export const originIn = (state: WithLinks, event: Creation): Origin | undefined =>
  originOf(event) ?? inherited(sourcesIn(state, event), event)

function sourcesIn({ origins = {}, links = [] }: WithLinks, event: Creation): Required<Sources> {
  const valid = Object.entries(origins)
    // A security key is only a second factor.
    .filter(([key]) => !key.startsWith("security_key"))
    .map(([, origin]) => origin)
    .filter(({ expires = Number.POSITIVE_INFINITY }) => expires > event.time)
  const { creators, idpIds } = sourcesOf(...valid)
  return { creators, idpIds: [...idpIds, ...links.map(({ idpId }) => idpId)] }
}

/**
 * Who can sign in by a link: whoever created it, and the authors of the organization's provider.
 * Events from before these were recorded do not have them.
 */
export function originOfLink(
  state: WithLinks,
  event: Creation & { readonly data: { readonly authors?: readonly string[] } },
): Origin | undefined {
  const authors = (event.data.authors ?? []).filter((each) => each !== event.id)
  const direct = originOf(event)
  if (direct) return { ...direct, ...othersOf(authors, direct.by) }
  const { creators, idpIds } = sourcesIn(state, event)
  return inherited({ creators: [...creators, ...authors], idpIds }, event)
}

function othersOf(creators: readonly string[], by: string): Pick<Origin, "others"> {
  const others = [...new Set(creators)].filter((each) => each !== by)
  return others.length > 0 ? { others } : {}
}

/** Everybody whom an origin names. */
export const creatorsOf = (origin: Origin | undefined): readonly string[] =>
  [origin?.by ?? "", ...(origin?.others ?? [])].filter((each) => each !== "")

/** Of what is created with something else: whoever created that. */
export const inheritedFrom = (origin: Origin | undefined, event: Creation): Origin | undefined =>
  inherited(sourcesOf(origin), event)

/** The same of what an account is made with that comes by a link. */
export function inheritedByLink(
  link: Origin | undefined,
  event: Creation & { readonly data: { readonly idpId: string } },
): Origin | undefined {
  const { creators, idpIds } = sourcesOf(link)
  return inherited({ creators, idpIds: [...idpIds, event.data.idpId] }, event)
}

function inherited({ creators = [], idpIds = [] }: Sources, { time: at }: Creation) {
  const [by = ""] = creators
  if (by === "" && idpIds.length === 0) return undefined
  const origin: Origin = { by, at, isInherited: true, ...othersOf(creators, by) }
  return idpIds.length > 0 ? { ...origin, idpIds: [...new Set(idpIds)] } : origin
}

/** Who created something by an event, and whoever created what it was created with. */
export function originWith(origin: Origin | undefined, event: Creation): Origin | undefined {
  const creator = originOf(event)
  if (!creator) return inheritedFrom(origin, event)
  const { idpIds } = sourcesOf(origin)
  const created = { ...creator, ...othersOf(creatorsOf(origin), creator.by) }
  return idpIds.length > 0 ? { ...created, idpIds } : created
}

type Code = { readonly returned: boolean; readonly urlTemplate: string; readonly expires: number }

type CodeUse = {
  readonly kind: "password_code" | "invitation" | "passkey_code"
  /** Where it is sent. */
  readonly to: "email" | "phone"
}

/**
 * Who can read a code: whoever it was returned to, whose page its link leads to, or who set the
 * address that it was sent to. The link can be that of the code before.
 */
export function originOfCode(
  state: WithOrigins,
  event: Creation & { readonly data: Code },
  { kind, to }: CodeUse,
): Origin | undefined {
  const { returned, urlTemplate, expires } = event.data
  const receivers = returned ? undefined : notedOrigin(state, to)
  const linked = urlTemplate === "" ? undefined : notedOrigin(state, kind)
  const others = inherited(sourcesOf(receivers, linked), event)
  const origin =
    returned || urlTemplate !== "" ? originWith(others, event) : inheritedFrom(others, event)
  return origin && { ...origin, expires }
}

/** Notes who created something; without an origin it is the user's own, or removed. */
export function noted(
  { origins = {} }: WithOrigins,
  kind: CredentialKind,
  { id = "", origin }: { readonly id?: string; readonly origin?: Origin | undefined } = {},
): WithOrigins {
  const key = keyOf(kind, id)
  if (!origin && !Object.hasOwn(origins, key)) return {}
  const { [key]: _, ...others } = origins
  return { origins: origin ? { ...others, [key]: origin } : others }
}

/** Who created something of a user, where it was not the user. */
export const notedOrigin = (
  { origins = {} }: WithOrigins,
  kind: CredentialKind,
  id = "",
): Origin | undefined => origins[keyOf(kind, id)]

const keyOf = (kind: CredentialKind, id: string): string => (id === "" ? kind : `${kind}/${id}`)

export const kindOfKey = (kind: "passkey" | "u2f"): CredentialKind =>
  kind === "passkey" ? "passkey" : "security_key"

/** What somebody showed to set a password; absent where nothing, and in events of old. */
export type PasswordProof = "code" | "invitation" | "current"

/**
 * Who can have set a password by an event: whoever could read the code that was shown for it, or
 * knew the current one. Without either it can be everybody who can sign in as the user.
 */
export function originOfPassword(
  state: WithOrigins,
  event: Creation & { readonly data: { readonly proof?: PasswordProof } },
): Origin | undefined {
  const { proof } = event.data
  if (proof === undefined) return originIn(state, event)
  const kinds = { code: "password_code", invitation: "invitation", current: "password" } as const
  return inheritedFrom(notedOrigin(state, kinds[proof]), event)
}

/** What is noted once a password was set, which ends the codes for one. */
export function notedPassword(
  state: WithOrigins,
  event: Creation & { readonly data: { readonly proof?: PasswordProof } },
): WithOrigins {
  const password = noted(state, "password", { origin: originOfPassword(state, event) })
  const code = { ...password, ...noted({ ...state, ...password }, "password_code") }
  return { ...code, ...noted({ ...state, ...code }, "invitation") }
}

/** Who set the addresses of a new person. */
export function notedContacts(event: Creation, { hasPhone }: { readonly hasPhone: boolean }) {
  const origin = originOf(event)
  const email = noted({}, "email", { origin })
  return hasPhone ? { ...email, ...noted(email, "phone", { origin }) } : email
}
