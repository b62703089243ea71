import { type IDPNameQuery, IDPType } from "../../../gen/core/idp/v1/idp_pb.ts"
import { TextQueryMethod } from "../../../gen/core/v1/object_pb.ts"
import { fieldError } from "../../../kernel/fault.ts"
import { pageOf } from "../../../kernel/page.ts"
import { foldName } from "../../../kernel/text/name.ts"
import { at, details, filterMissingError, meaning } from "../../../protocol/api/answer.ts"
import { type MaskedRequest, mergedWith } from "../../../protocol/api/mask.ts"
import { type Cx, type Receipt, windowOf } from "../../../store/index.ts"
import { findPolicy, login } from "../../policy/index.ts"
import {
  addIdp,
  changeIdp,
  type Found,
  findIdp,
  idpById,
  idpsOf,
  linkIdp,
  migrateIdp,
  missingError,
  type Place,
  removeIdp,
  replacePairs,
  secretOf,
  unlinkIdp,
  type Wish,
} from "../commands.ts"
import type { Idp, IdpKind } from "../model.ts"
import { newPairs } from "../saml/pair.ts"
import { wishOf } from "./v1-form.ts"
import { changeSaml, newSaml, type SamlFields } from "./v1-saml.ts"
import { ownerOf, requestedOf, shownIdp, shownWhole } from "./v1-shown.ts"

type Named = { readonly id: string }
type PlaceOf = (cx: Cx) => Place

/** The rows of one place and, for an organisation, those of the instance. */
const seenFrom = (cx: Cx, place: Place): readonly Found[] =>
  [...new Set([place, undefined])].flatMap((each) =>
    Object.values(idpsOf(cx, each).all).map((idp) => ({ idp, place: each })),
  )

/** A filter of a search for providers; each says one thing. */
export type Query =
  | { readonly case: "idpIdQuery"; readonly value: { readonly id: string } }
  | { readonly case: "idpNameQuery"; readonly value: Pick<IDPNameQuery, "name" | "method"> }
  | { readonly case: "ownerTypeQuery"; readonly value: { readonly ownerType: number } }
  | { readonly case: undefined; readonly value?: undefined }

type Searching = {
  readonly query?: Parameters<typeof pageOf>[0]
  readonly queries: readonly { readonly query: Query }[]
}

/** The providers that a place sees and that fit, a page of them. */
export function searchIdps(cx: Cx, place: Place, { query, queries }: Searching) {
  const filters = queries.map((each) => each.query)
  const all = seenFrom(cx, place).filter((found) => filters.every((filter) => fits(found, filter)))
  const found = windowOf(cx, all, {
    page: pageOf(query),
    requested: ["idps", place, filters],
    by: ({ idp }) => [idp.created, idp.id],
  })
  return { details: listDetails(cx, found.total), rows: found.rows }
}

function fits({ idp, place }: Found, query: Query): boolean {
  if (query.case === "idpIdQuery") return idp.id === query.value.id
  if (query.case === "ownerTypeQuery") return ownerOf(place) === query.value.ownerType
  if (query.case === undefined) throw filterMissingError()
  const { how, isFolded } = meaning(methods, query.value.method)
  const fold = isFolded ? foldName : (text: string) => text
  return compared[how](fold(idp.name), fold(query.value.name))
}

const compared = {
  equals: (text: string, part: string) => text === part,
  starts: (text: string, part: string) => text.startsWith(part),
  has: (text: string, part: string) => text.includes(part),
  ends: (text: string, part: string) => text.endsWith(part),
} as const

const methods: Readonly<Record<number, { how: keyof typeof compared; isFolded: boolean }>> = {
  [TextQueryMethod.EQUALS]: { how: "equals", isFolded: false },
  [TextQueryMethod.EQUALS_IGNORE_CASE]: { how: "equals", isFolded: true },
  [TextQueryMethod.STARTS_WITH]: { how: "starts", isFolded: false },
  [TextQueryMethod.STARTS_WITH_IGNORE_CASE]: { how: "starts", isFolded: true },
  [TextQueryMethod.CONTAINS]: { how: "has", isFolded: false },
  [TextQueryMethod.CONTAINS_IGNORE_CASE]: { how: "has", isFolded: true },
  [TextQueryMethod.ENDS_WITH]: { how: "ends", isFolded: false },
  [TextQueryMethod.ENDS_WITH_IGNORE_CASE]: { how: "ends", isFolded: true },
}

/** What v1 does with the providers of a place; it is the same with each kind. */
export function operationsAt(placeOf: PlaceOf) {
  const adding =
    <Req>(read: (req: Req, cx: Cx) => Wish | Promise<Wish>) =>
    async (req: Req, cx: Cx) => {
      const receipt = await addIdp(cx, placeOf(cx), await read(req, cx))
      return { id: receipt.id, details: details(receipt) }
    }
  const changing =
    <Req>(kind: IdpKind, read: (req: Req) => Wish) =>
    async (req: Req & Named & MaskedRequest, cx: Cx) => {
      const say = (before: Idp) => read(mergedWith(req, requestedOf(before)))
      const wish = req.updateMask ? { kind, say } : read(req)
      return changed(await changeIdp(cx, placeOf(cx), req.id, wish))
    }
  return {
    getProviderByID: ({ id }: Named, cx: Cx) => {
      const place = placeOf(cx)
      const found = seenFrom(cx, place).find(({ idp }) => idp.id === id)
      if (!found) throw missingError()
      return { idp: { ...shownWhole(cx, found), owner: ownerOf(found.place) } }
    },
    listProviders: (req: Searching, cx: Cx) => {
      const { details, rows } = searchIdps(cx, placeOf(cx), req)
      const result = rows.map((row) => ({ ...shownIdp(cx, row), owner: ownerOf(row.place) }))
      return { details, result }
    },
    addGenericOAuthProvider: adding(wishOf.oauth),
    updateGenericOAuthProvider: changing("oauth", wishOf.oauth),
    addGenericOIDCProvider: adding(wishOf.oidc),
    updateGenericOIDCProvider: changing("oidc", wishOf.oidc),
    addJWTProvider: adding(wishOf.jwt),
    updateJWTProvider: changing("jwt", wishOf.jwt),
    addLDAPProvider: adding(wishOf.ldap),
    updateLDAPProvider: changing("ldap", wishOf.ldap),
    addSAMLProvider: adding(newSaml),
    updateSAMLProvider: async (req: SamlFields & Named & MaskedRequest, cx: Cx) =>
      changed(await changeSaml(cx, placeOf(cx), req)),
    regenerateSAMLProviderCertificate: async ({ id }: Named, cx: Cx) => {
      const place = placeOf(cx)
      findIdp(cx, place, id, "saml")
      const pairs = await newPairs(cx, secretOf(cx, id))
      return changed(await replacePairs(cx, place, id, pairs))
    },
    addAzureADProvider: adding(wishOf.azure),
    updateAzureADProvider: changing("azure", wishOf.azure),
    addGitHubProvider: adding(wishOf.github),
    updateGitHubProvider: changing("github", wishOf.github),
    addGitHubEnterpriseServerProvider: adding(wishOf.githubEnterprise),
    updateGitHubEnterpriseServerProvider: changing("github_enterprise", wishOf.githubEnterprise),
    addGitLabProvider: adding(wishOf.gitlab),
    updateGitLabProvider: changing("gitlab", wishOf.gitlab),
    addGitLabSelfHostedProvider: adding(wishOf.gitlabSelfHosted),
    updateGitLabSelfHostedProvider: changing("gitlab_self_hosted", wishOf.gitlabSelfHosted),
    addGoogleProvider: adding(wishOf.google),
    updateGoogleProvider: changing("google", wishOf.google),
    addAppleProvider: adding(wishOf.apple),
    updateAppleProvider: changing("apple", wishOf.apple),
    migrateGenericOIDCProvider: async (req: Migrating, cx: Cx) =>
      changed(await migrateIdp(cx, placeOf(cx), req.id, migratedOf(req))),
    deleteProvider: async ({ id }: Named, cx: Cx) => changed(await removeIdp(cx, placeOf(cx), id)),
    ...linksAt(placeOf),
  }
}

type Migrating = Named & {
  readonly template:
    | { readonly case: "azure"; readonly value: Parameters<typeof wishOf.azure>[0] }
    | { readonly case: "google"; readonly value: Parameters<typeof wishOf.google>[0] }
    | { readonly case: undefined; readonly value?: undefined }
}

function migratedOf({ template }: Migrating): Wish {
  if (template.case === "azure") return wishOf.azure(template.value)
  if (template.case === "google") return wishOf.google(template.value)
  throw fieldError("idp.template_missing", "template", "requires one of azure, google")
}

type NamedLink = { readonly idpId: string }

/** What people may sign in with at a place; an organisation may link those of the instance, too. */
function linksAt(placeOf: PlaceOf) {
  return {
    listLoginPolicyIDPs: ({ query }: Pick<Searching, "query">, cx: Cx) => {
      const rows = linkedAt(cx, placeOf(cx))
      const page = pageOf(query)
      const shown = page.asc ? rows : rows.toReversed()
      return {
        details: listDetails(cx, rows.length),
        result: shown.slice(page.offset, page.offset + page.limit).map(shownLink),
      }
    },
    addIDPToLoginPolicy: async ({ idpId }: NamedLink, cx: Cx) =>
      changed(await linkIdp(cx, placeOf(cx), idpId)),
    removeIDPFromLoginPolicy: async ({ idpId }: NamedLink, cx: Cx) =>
      changed(await unlinkIdp(cx, placeOf(cx), idpId)),
  }
}

/** The providers that are linked at a place, or above it where it has no policy of its own. */
export function linkedAt(cx: Cx, place: Place): readonly Found[] {
  const { isDefault } = findPolicy(cx, place, login)
  return idpsOf(cx, isDefault ? undefined : place).links.flatMap((id) => idpById(cx, id) ?? [])
}

/** The field knows two kinds of provider, and says nothing of the others. */
export const shownLink = ({ idp }: Found) => ({
  idpId: idp.id,
  idpName: idp.name,
  idpType: olderType(idp.settings.kind),
})

function olderType(kind: IdpKind): IDPType {
  if (kind === "jwt") return IDPType.IDP_TYPE_JWT
  return kind === "oidc" ? IDPType.IDP_TYPE_OIDC : IDPType.IDP_TYPE_UNSPECIFIED
}

const changed = (receipt: Receipt) => ({ details: details(receipt) })

const listDetails = (cx: Cx, total: number) => ({
  totalResult: BigInt(total),
  processedSequence: BigInt(cx.store.log.durable()),
  viewTimestamp: at(cx.clock.now()),
})
