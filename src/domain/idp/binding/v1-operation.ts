import { type IDPNameQuery, IDPType } from "../../../gen/core/idp/v1/idp_pb.ts"
import { TextQueryMethod } from "../../../gen/core/v1/object_pb.ts"
import { fieldError } from "../../../kernel/fault.ts"
import { parsePage } from "../../../kernel/page.ts"
import { foldName } from "../../../kernel/text/name.ts"
import { type MaskedRequest, mergeWithStored } from "../../../protocol/api/mask.ts"
import {
  filterMissingError,
  toDetails,
  toTimestamp,
  valueOfEnum,
} from "../../../protocol/api/response.ts"
import { type Cx, paginate, type Receipt } from "../../../store/index.ts"
import { findPolicy, login } from "../../policy/index.ts"
import {
  createIdp,
  findIdpById,
  getIdp,
  type IdpInput,
  type IdpOwner,
  idpNotFoundError,
  idpsOf,
  linkIdp,
  migrateIdp,
  type OwnedIdp,
  removeIdp,
  replaceKeyPairs,
  unlinkIdp,
  updateIdp,
} from "../commands.ts"
import type { Idp, IdpKind } from "../model.ts"
import { createKeyPairs } from "../saml/key-pair.ts"
import { secretOf } from "../secret.ts"
import { inputFrom } from "./v1-form.ts"
import { toMessage, toMessageWithMetadata, toOwnerType, toUpdateRequest } from "./v1-message.ts"
import { createSamlInput, type SamlFields, updateSaml } from "./v1-saml.ts"

type IdRequest = { readonly id: string }
type OwnerOf = (cx: Cx) => IdpOwner

/** Providers of an owner and, for an organization, those of the instance. */
const listVisible = (cx: Cx, owner: IdpOwner): readonly OwnedIdp[] =>
  [...new Set([owner, undefined])].flatMap((each) =>
    Object.values(idpsOf(cx, each).all).map((idp) => ({ idp, place: each })),
  )

/** A filter of a search for providers. */
export type Query =
  | { readonly case: "idpIdQuery"; readonly value: { readonly id: string } }
  | { readonly case: "idpNameQuery"; readonly value: Pick<IDPNameQuery, "name" | "method"> }
  | { readonly case: "ownerTypeQuery"; readonly value: { readonly ownerType: number } }
  | { readonly case: undefined; readonly value?: undefined }

type SearchRequest = {
  readonly query?: Parameters<typeof parsePage>[0]
  readonly queries: readonly { readonly query: Query }[]
}

/** Searches the providers that an owner can see and returns one page. */
export function searchIdps(cx: Cx, owner: IdpOwner, { query, queries }: SearchRequest) {
  const filters = queries.map((each) => each.query)
  const all = listVisible(cx, owner).filter((provider) =>
    filters.every((filter) => matches(provider, filter)),
  )
  const found = paginate(cx, all, {
    page: parsePage(query),
    requested: ["idps", owner, filters],
    by: ({ idp }) => [idp.created, idp.id],
  })
  return { details: listDetails(cx, found.total), rows: found.rows }
}

function matches({ idp, place: owner }: OwnedIdp, query: Query): boolean {
  if (query.case === "idpIdQuery") return idp.id === query.value.id
  if (query.case === "ownerTypeQuery") return toOwnerType(owner) === query.value.ownerType
  if (query.case === undefined) throw filterMissingError()
  const { how: comparison, isFolded } = valueOfEnum(methods, query.value.method)
  const fold = isFolded ? foldName : (text: string) => text
  return comparisons[comparison](fold(idp.name), fold(query.value.name))
}

const comparisons = {
  equals: (text: string, part: string) => text === part,
  starts: (text: string, part: string) => text.startsWith(part),
  has: (text: string, part: string) => text.includes(part),
  ends: (text: string, part: string) => text.endsWith(part),
} as const

const methods: Readonly<Record<number, { how: keyof typeof comparisons; isFolded: boolean }>> = {
  [TextQueryMethod.EQUALS]: { how: "equals", isFolded: false },
  [TextQueryMethod.EQUALS_IGNORE_CASE]: { how: "equals", isFolded: true },
  [TextQueryMethod.STARTS_WITH]: { how: "starts", isFolded: false },
  [TextQueryMethod.STARTS_WITH_IGNORE_CASE]: { how: "starts", isFolded: true },
  [TextQueryMethod.CONTAINS]: { how: "has", isFolded: false },
  [TextQueryMethod.CONTAINS_IGNORE_CASE]: { how: "has", isFolded: true },
  [TextQueryMethod.ENDS_WITH]: { how: "ends", isFolded: false },
  [TextQueryMethod.ENDS_WITH_IGNORE_CASE]: { how: "ends", isFolded: true },
}

/** Operations of version 1 on the providers of an owner; the same for each kind. */
export function providerOperations(ownerOf: OwnerOf) {
  const adding =
    <Req>(read: (req: Req, cx: Cx) => IdpInput | Promise<IdpInput>) =>
    async (req: Req, cx: Cx) => {
      const receipt = await createIdp(cx, ownerOf(cx), await read(req, cx))
      return { id: receipt.id, details: toDetails(receipt) }
    }
  const changing =
    <Req>(kind: IdpKind, read: (req: Req) => IdpInput) =>
    async (req: Req & IdRequest & MaskedRequest, cx: Cx) => {
      const say = (before: Idp) => read(mergeWithStored(req, toUpdateRequest(before)))
      const wish = req.updateMask ? { kind, say } : read(req)
      return changeResponse(await updateIdp(cx, ownerOf(cx), req.id, wish))
    }
  return {
    getProviderByID: ({ id }: IdRequest, cx: Cx) => {
      const owner = ownerOf(cx)
      const found = listVisible(cx, owner).find(({ idp }) => idp.id === id)
      if (!found) throw idpNotFoundError()
      return { idp: { ...toMessageWithMetadata(cx, found), owner: toOwnerType(found.place) } }
    },
    listProviders: (req: SearchRequest, cx: Cx) => {
      const { details, rows } = searchIdps(cx, ownerOf(cx), req)
      const result = rows.map((row) => ({ ...toMessage(cx, row), owner: toOwnerType(row.place) }))
      return { details, result }
    },
    addGenericOAuthProvider: adding(inputFrom.oauth),
    updateGenericOAuthProvider: changing("oauth", inputFrom.oauth),
    addGenericOIDCProvider: adding(inputFrom.oidc),
    updateGenericOIDCProvider: changing("oidc", inputFrom.oidc),
    addJWTProvider: adding(inputFrom.jwt),
    updateJWTProvider: changing("jwt", inputFrom.jwt),
    addLDAPProvider: adding(inputFrom.ldap),
    updateLDAPProvider: changing("ldap", inputFrom.ldap),
    addSAMLProvider: adding(createSamlInput),
    updateSAMLProvider: async (req: SamlFields & IdRequest & MaskedRequest, cx: Cx) =>
      changeResponse(await updateSaml(cx, ownerOf(cx), req)),
    regenerateSAMLProviderCertificate: async ({ id }: IdRequest, cx: Cx) => {
      const owner = ownerOf(cx)
      getIdp(cx, owner, id, "saml")
      const pairs = await createKeyPairs(cx, secretOf(cx, id))
      return changeResponse(await replaceKeyPairs(cx, owner, id, pairs))
    },
    addAzureADProvider: adding(inputFrom.azure),
    updateAzureADProvider: changing("azure", inputFrom.azure),
    addGitHubProvider: adding(inputFrom.github),
    updateGitHubProvider: changing("github", inputFrom.github),
    addGitHubEnterpriseServerProvider: adding(inputFrom.githubEnterprise),
    updateGitHubEnterpriseServerProvider: changing("github_enterprise", inputFrom.githubEnterprise),
    addGitLabProvider: adding(inputFrom.gitlab),
    updateGitLabProvider: changing("gitlab", inputFrom.gitlab),
    addGitLabSelfHostedProvider: adding(inputFrom.gitlabSelfHosted),
    updateGitLabSelfHostedProvider: changing("gitlab_self_hosted", inputFrom.gitlabSelfHosted),
    addGoogleProvider: adding(inputFrom.google),
    updateGoogleProvider: changing("google", inputFrom.google),
    addAppleProvider: adding(inputFrom.apple),
    updateAppleProvider: changing("apple", inputFrom.apple),
    migrateGenericOIDCProvider: async (req: MigrateRequest, cx: Cx) =>
      changeResponse(await migrateIdp(cx, ownerOf(cx), req.id, migrationInput(req))),
    deleteProvider: async ({ id }: IdRequest, cx: Cx) =>
      changeResponse(await removeIdp(cx, ownerOf(cx), id)),
    ...linkOperations(ownerOf),
  }
}

type MigrateRequest = IdRequest & {
  readonly template:
    | { readonly case: "azure"; readonly value: Parameters<typeof inputFrom.azure>[0] }
    | { readonly case: "google"; readonly value: Parameters<typeof inputFrom.google>[0] }
    | { readonly case: undefined; readonly value?: undefined }
}

function migrationInput({ template }: MigrateRequest): IdpInput {
  if (template.case === "azure") return inputFrom.azure(template.value)
  if (template.case === "google") return inputFrom.google(template.value)
  throw fieldError("idp.template_missing", "template", "must be one of: azure, google")
}

type LinkRequest = { readonly idpId: string }

/** Sign-in providers of an owner; an organization can also link those of the instance. */
function linkOperations(ownerOf: OwnerOf) {
  return {
    listLoginPolicyIDPs: ({ query }: Pick<SearchRequest, "query">, cx: Cx) => {
      const rows = listLinked(cx, ownerOf(cx))
      const page = parsePage(query)
      const shown = page.asc ? rows : rows.toReversed()
      return {
        details: listDetails(cx, rows.length),
        result: shown.slice(page.offset, page.offset + page.limit).map(toLinkMessage),
      }
    },
    addIDPToLoginPolicy: async ({ idpId }: LinkRequest, cx: Cx) =>
      changeResponse(await linkIdp(cx, ownerOf(cx), idpId)),
    removeIDPFromLoginPolicy: async ({ idpId }: LinkRequest, cx: Cx) =>
      changeResponse(await unlinkIdp(cx, ownerOf(cx), idpId)),
  }
}

/**
 * Providers linked by the owner's policy, or by the instance's policy if the organization has none.
 */
export function listLinked(cx: Cx, owner: IdpOwner): readonly OwnedIdp[] {
  const { isDefault } = findPolicy(cx, owner, login)
  return idpsOf(cx, isDefault ? undefined : owner).links.flatMap((id) => findIdpById(cx, id) ?? [])
}

/** The field distinguishes only two kinds of providers; others are unspecified. */
export const toLinkMessage = ({ idp }: OwnedIdp) => ({
  idpId: idp.id,
  idpName: idp.name,
  idpType: toLinkType(idp.settings.kind),
})

function toLinkType(kind: IdpKind): IDPType {
  if (kind === "jwt") return IDPType.IDP_TYPE_JWT
  return kind === "oidc" ? IDPType.IDP_TYPE_OIDC : IDPType.IDP_TYPE_UNSPECIFIED
}

const changeResponse = (receipt: Receipt) => ({ details: toDetails(receipt) })

const listDetails = (cx: Cx, total: number) => ({
  totalResult: BigInt(total),
  processedSequence: BigInt(cx.store.log.durable()),
  viewTimestamp: toTimestamp(cx.clock.now()),
})
