import type { Editor } from "../../store/index.ts"

/** Another user who created a credential, and when, ms UTC. */
export type Origin = {
  /** Empty if only authors of the providers can have created it. */
  readonly by: string
  readonly at: number
  /** Whether the user or no one created it while `by` could sign in as the user. */
  readonly isInherited?: boolean
  /** Other users who could sign in as the user when it was created. */
  readonly others?: readonly string[]
  /** Providers that could sign in as the user when it was created, regardless of their authors. */
  readonly idpIds?: readonly string[]
  /** When a code expires, ms UTC. */
  readonly expires?: number
}

/** By kind and ID; absent for credentials that the user created, and if others created none. */
export type WithOrigins = { readonly origins?: Readonly<Record<string, Origin>> }

/** Origins of a human user, with the providers linked to the user. */
type WithLinks = WithOrigins & { readonly links?: readonly { readonly idpId: string }[] }

/** Kinds of credentials, including codes to set them up. */
export const credentialKinds = [
  ...(["password", "password_code", "invitation", "passkey", "passkey_code"] as const),
  ...(["security_key", "provider_link", "service_key", "client_secret", "access_token"] as const),
  ...(["email", "phone"] as const),
] as const
export type CredentialKind = (typeof credentialKinds)[number]

type CreationEvent = { readonly id: string; readonly editor: Editor; readonly time: number }

/** The creator of a credential in an event; undefined for the user, and if no one was signed in. */
export const findOrigin = ({
  id,
  editor: { user: by },
  time,
}: CreationEvent): Origin | undefined => (by === "" || by === id ? undefined : { by, at: time })

/**
 * The creator of a service account's credential. The account itself counts too, because its keys
 * can be created with one that another user has.
 */
export const findMachineOrigin = ({
  editor: { user: by },
  time,
}: CreationEvent): Origin | undefined => (by === "" ? undefined : { by, at: time })

/** The possible creators of a credential. */
type OriginSources = { readonly creators?: readonly string[]; readonly idpIds?: readonly string[] }

const mergeSources = (...origins: readonly (Origin | undefined)[]): Required<OriginSources> => ({
  creators: origins.flatMap(listCreators),
  idpIds: origins.flatMap((origin) => origin?.idpIds ?? []),
})

/**
 * The creator of a human user's credential. Others who could sign in as the user at that time may
 * have acted as the user or as an anonymous caller.
 */
export const originWithInherited = (state: WithLinks, event: CreationEvent): Origin | undefined =>
  findOrigin(event) ?? inheritedOrigin(sourcesAt(state, event), event)

function sourcesAt(
  { origins = {}, links = [] }: WithLinks,
  event: CreationEvent,
): Required<OriginSources> {
  const valid = Object.entries(origins)
    // A security key is only a second factor.
    .filter(([key]) => !key.startsWith("security_key"))
    .map(([, origin]) => origin)
    .filter(({ expires = Number.POSITIVE_INFINITY }) => expires > event.time)
  const { creators, idpIds } = mergeSources(...valid)
  return { creators, idpIds: [...idpIds, ...links.map(({ idpId }) => idpId)] }
}

/**
 * Who can sign in with a link: its creator, and the authors of the organization's provider; absent
 * in events from before authors were recorded.
 */
export function linkOrigin(
  state: WithLinks,
  event: CreationEvent & { readonly data: { readonly authors?: readonly string[] } },
): Origin | undefined {
  const authors = (event.data.authors ?? []).filter((each) => each !== event.id)
  const direct = findOrigin(event)
  if (direct) return { ...direct, ...otherCreators(authors, direct.by) }
  const { creators, idpIds } = sourcesAt(state, event)
  return inheritedOrigin({ creators: [...creators, ...authors], idpIds }, event)
}

function otherCreators(creators: readonly string[], by: string): Pick<Origin, "others"> {
  const others = [...new Set(creators)].filter((each) => each !== by)
  return others.length > 0 ? { others } : {}
}

/** All users named by an origin. */
export const listCreators = (origin: Origin | undefined): readonly string[] =>
  [origin?.by ?? "", ...(origin?.others ?? [])].filter((each) => each !== "")

/** The origin of a credential that was created with another one. */
export const inheritOrigin = (
  origin: Origin | undefined,
  event: CreationEvent,
): Origin | undefined => inheritedOrigin(mergeSources(origin), event)

/** The origin of the credentials of an account that was created with a link. */
export function inheritLinkOrigin(
  link: Origin | undefined,
  event: CreationEvent & { readonly data: { readonly idpId: string } },
): Origin | undefined {
  const { creators, idpIds } = mergeSources(link)
  return inheritedOrigin({ creators, idpIds: [...idpIds, event.data.idpId] }, event)
}

function inheritedOrigin(
  { creators = [], idpIds = [] }: OriginSources,
  { time: at }: CreationEvent,
) {
  const [by = ""] = creators
  if (by === "" && idpIds.length === 0) return undefined
  const origin: Origin = { by, at, isInherited: true, ...otherCreators(creators, by) }
  return idpIds.length > 0 ? { ...origin, idpIds: [...new Set(idpIds)] } : origin
}

/** Combines the creator in an event with the origin of the credential that was used. */
export function combineOrigin(
  origin: Origin | undefined,
  event: CreationEvent,
): Origin | undefined {
  const creator = findOrigin(event)
  if (!creator) return inheritOrigin(origin, event)
  const { idpIds } = mergeSources(origin)
  const created = { ...creator, ...otherCreators(listCreators(origin), creator.by) }
  return idpIds.length > 0 ? { ...created, idpIds } : created
}

type CodeDetails = {
  readonly returned: boolean
  readonly urlTemplate: string
  readonly expires: number
}

type CodeDelivery = {
  readonly kind: "password_code" | "invitation" | "passkey_code"
  /** The channel of the code. */
  readonly to: "email" | "phone"
}

/**
 * Who can read a code: the caller it was returned to, the owner of the page in its link, and
 * the caller that set the address. The link can be that of the previous code.
 */
export function codeOrigin(
  state: WithOrigins,
  event: CreationEvent & { readonly data: CodeDetails },
  { kind, to }: CodeDelivery,
): Origin | undefined {
  const { returned, urlTemplate, expires } = event.data
  const receivers = returned ? undefined : recordedOrigin(state, to)
  const linked = urlTemplate === "" ? undefined : recordedOrigin(state, kind)
  const others = inheritedOrigin(mergeSources(receivers, linked), event)
  const origin =
    returned || urlTemplate !== "" ? combineOrigin(others, event) : inheritOrigin(others, event)
  return origin && { ...origin, expires }
}

/** Records the origin of a credential; without an origin, the user created or removed it. */
export function withOriginOf(
  { origins = {} }: WithOrigins,
  kind: CredentialKind,
  { id = "", origin }: { readonly id?: string; readonly origin?: Origin | undefined } = {},
): WithOrigins {
  const key = originKey(kind, id)
  if (!origin && !Object.hasOwn(origins, key)) return {}
  const { [key]: _, ...others } = origins
  return { origins: origin ? { ...others, [key]: origin } : others }
}

/** The recorded origin of a credential, if another user created it. */
export const recordedOrigin = (
  { origins = {} }: WithOrigins,
  kind: CredentialKind,
  id = "",
): Origin | undefined => origins[originKey(kind, id)]

const originKey = (kind: CredentialKind, id: string): string => (id === "" ? kind : `${kind}/${id}`)

export const credentialKindOf = (kind: "passkey" | "u2f"): CredentialKind =>
  kind === "passkey" ? "passkey" : "security_key"

/** What proved a password change; absent if nothing did, and in older events. */
export type PasswordProof = "code" | "invitation" | "current"

/**
 * Who can have set a password: those who could read the code, or had the current password. Without
 * a proof, everyone who could sign in as the user.
 */
export function passwordOrigin(
  state: WithOrigins,
  event: CreationEvent & { readonly data: { readonly proof?: PasswordProof } },
): Origin | undefined {
  const { proof } = event.data
  if (proof === undefined) return originWithInherited(state, event)
  const kinds = { code: "password_code", invitation: "invitation", current: "password" } as const
  return inheritOrigin(recordedOrigin(state, kinds[proof]), event)
}

/** Origins after a password was set, which invalidates its codes. */
export function withPasswordOrigin(
  state: WithOrigins,
  event: CreationEvent & { readonly data: { readonly proof?: PasswordProof } },
): WithOrigins {
  const password = withOriginOf(state, "password", { origin: passwordOrigin(state, event) })
  const code = { ...password, ...withOriginOf({ ...state, ...password }, "password_code") }
  return { ...code, ...withOriginOf({ ...state, ...code }, "invitation") }
}

/** Origins of the addresses of a new user. */
export function contactOrigins(event: CreationEvent, { hasPhone }: { readonly hasPhone: boolean }) {
  const origin = findOrigin(event)
  const email = withOriginOf({}, "email", { origin })
  return hasPhone ? { ...email, ...withOriginOf(email, "phone", { origin }) } : email
}
