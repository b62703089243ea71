import type { AddSAMLProviderRequest } from "../../../gen/core/admin/v1/idp_pb.ts"
import {
  SAMLBinding,
  SAMLNameIDFormat,
  SAMLSignatureAlgorithm,
} from "../../../gen/core/idp/v1/idp_pb.ts"
import { retryOnConflict } from "../../../kernel/edit/latest.ts"
import { type MaskedRequest, mergeWithStored } from "../../../protocol/api/mask.ts"
import { valueOfEnum } from "../../../protocol/api/response.ts"
import type { Cx, Receipt } from "../../../store/index.ts"
import { decodeMetadata } from "../../../xml/metadata.ts"
import type { Binding, Hash, NameIdFormat } from "../../../xml/names.ts"
import { getIdp, type IdpInput, type IdpOwner, metadataOf, updateIdp } from "../commands.ts"
import { invalidFieldError } from "../field.ts"
import type { Settings } from "../model.ts"
import { createKeyPairs } from "../saml/key-pair.ts"
import { metadataReading, parseUsableProvider, type SamlProvider } from "../saml/provider.ts"
import {
  anchorOf,
  fetchMetadata,
  type PreviousMetadata,
  samlOf,
  storedProvider,
} from "../saml/refresh.ts"
import { optionsFrom, toOptionsMessage } from "./v1-form.ts"

type Saml = Extract<Settings, { kind: "saml" }>

/** Fields of requests about a SAML provider, of an instance or an organization. */
export type SamlFields = Omit<AddSAMLProviderRequest, "$typeName" | "$unknown">

/** Input for a new provider, with its own key pair. */
export async function createSamlInput(req: SamlFields, cx: Cx): Promise<IdpInput> {
  const source = await fetchSource(cx, req)
  const wish = await samlInput(cx, req, { source })
  const options = { encryptAssertions: false, ...wish.options }
  return { ...wish, options, secret: await createKeyPairs(cx) }
}

/**
 * Updates a provider. With a mask the current state is read first, because loading metadata takes
 * time, and read again if it was changed concurrently.
 */
export async function updateSaml(
  cx: Cx,
  owner: IdpOwner,
  req: SamlFields & MaskedRequest & { readonly id: string },
): Promise<Receipt> {
  const { id } = req
  if (!req.updateMask) return updateIdp(cx, owner, id, await samlUpdateInput(cx, owner, req))
  return retryOnConflict(cx, async (cx) => {
    const idp = getIdp(cx, owner, id, "saml")
    const { metadataXml, ...shown } = toSamlMessage(samlOf({ idp }), metadataOf(cx, id))
    const stored = {
      ...shown,
      id,
      name: idp.name,
      providerOptions: toOptionsMessage(idp.options),
      metadata: { case: "metadataXml", value: metadataXml },
    }
    const names = { metadata: ["metadataXml", "metadataUrl"] }
    const wish = await samlUpdateInput(cx, owner, mergeWithStored(req, stored, names))
    return updateIdp(cx, owner, id, { kind: "saml", say: () => wish })
  })
}

/**
 * Input for an existing provider, which keeps its key pair. Sending the returned metadata leaves it
 * unchanged.
 */
async function samlUpdateInput(
  cx: Cx,
  owner: IdpOwner,
  req: SamlFields & { readonly id: string },
): Promise<IdpInput> {
  const idp = getIdp(cx, owner, req.id, "saml")
  const settings = samlOf({ idp })
  const { signingKeys } = await storedProvider(cx, { idp })
  const newSource = await fetchSource(cx, req)
  const isAsShown = newSource.url === "" && newSource.metadata === metadataOf(cx, idp.id)
  const source = isAsShown ? { ...newSource, url: settings.metadataUrl } : newSource
  return samlInput(cx, req, { source, before: { settings, signingKeys } })
}

type MetadataSource = { readonly metadata: string; readonly url: string }

async function fetchSource(
  cx: Cx,
  { metadata }: Pick<SamlFields, "metadata">,
): Promise<MetadataSource> {
  if (metadata.case === "metadataUrl") {
    return { metadata: await fetchMetadata(cx, metadata.value), url: metadata.value }
  }
  if (metadata.case === "metadataXml") {
    return { metadata: decodeMetadata(metadata.value, metadataReading), url: "" }
  }
  throw invalidFieldError("metadata_xml", "is required, unless metadata_url is set")
}

type SamlInputOptions = { readonly source: MetadataSource; readonly before?: PreviousMetadata }

async function samlInput(
  cx: Cx,
  req: SamlFields,
  { source, before }: SamlInputOptions,
): Promise<IdpInput> {
  const { metadata, url: metadataUrl } = source
  const provider = await parseUsableProvider(metadata, cx.clock.now())
  const settings: Saml = {
    kind: "saml",
    entityId: provider.entityId,
    anchor: anchorOf(provider, metadataUrl, before),
    metadataUrl,
    binding: bindingFor(req.binding, provider),
    withSignedRequest: req.withSignedRequest,
    hash: hashFor(req.signatureAlgorithm),
    nameIdFormat: valueOfEnum(
      formats,
      req.nameIdFormat ?? SAMLNameIDFormat.SAML_NAME_ID_FORMAT_PERSISTENT,
    ),
    transientAttribute: req.transientMappingAttributeName?.trim() ?? "",
    federatedLogout: req.federatedLogoutEnabled ?? false,
  }
  return { name: req.name, settings, options: optionsFrom(req.providerOptions), metadata }
}

/** A binding that the provider supports; its first one by default. */
function bindingFor(requested: SAMLBinding, { signOn }: SamlProvider): Binding {
  if (requested === SAMLBinding.SAML_BINDING_ARTIFACT) {
    throw invalidFieldError("binding", "must not be HTTP-Artifact; use HTTP-Redirect or HTTP-POST")
  }
  const binding = valueOfEnum(bindings, requested)
  const found = binding ? signOn.find((each) => each.binding === binding) : signOn[0]
  if (found) return found.binding
  throw invalidFieldError(
    "binding",
    "must be a binding that the metadata lists for the SingleSignOnService",
  )
}

const bindings: Readonly<Record<number, Binding | "">> = {
  [SAMLBinding.SAML_BINDING_UNSPECIFIED]: "",
  [SAMLBinding.SAML_BINDING_POST]: "post",
  [SAMLBinding.SAML_BINDING_REDIRECT]: "redirect",
}

const formats: Readonly<Record<number, NameIdFormat>> = {
  [SAMLNameIDFormat.SAML_NAME_ID_FORMAT_UNSPECIFIED]: "unspecified",
  [SAMLNameIDFormat.SAML_NAME_ID_FORMAT_EMAIL_ADDRESS]: "email",
  [SAMLNameIDFormat.SAML_NAME_ID_FORMAT_PERSISTENT]: "persistent",
  [SAMLNameIDFormat.SAML_NAME_ID_FORMAT_TRANSIENT]: "transient",
}

const hashes: Readonly<Record<number, Hash>> = {
  [SAMLSignatureAlgorithm.SAML_SIGNATURE_UNSPECIFIED]: "sha256",
  [SAMLSignatureAlgorithm.SAML_SIGNATURE_RSA_SHA256]: "sha256",
  [SAMLSignatureAlgorithm.SAML_SIGNATURE_RSA_SHA512]: "sha512",
}

function hashFor(requested: SAMLSignatureAlgorithm): Hash {
  if (requested === SAMLSignatureAlgorithm.SAML_SIGNATURE_RSA_SHA1) {
    throw invalidFieldError("signature_algorithm", "must not be RSA_SHA1, which is insecure")
  }
  return valueOfEnum(hashes, requested)
}

/** A SAML provider in the format of both versions, without the private key. */
export const toSamlMessage = (settings: Saml, metadata: string) => ({
  metadataXml: new TextEncoder().encode(metadata),
  binding:
    settings.binding === "post" ? SAMLBinding.SAML_BINDING_POST : SAMLBinding.SAML_BINDING_REDIRECT,
  withSignedRequest: settings.withSignedRequest,
  nameIdFormat: nameIdFormatMessages[settings.nameIdFormat],
  ...(settings.transientAttribute !== "" && {
    transientMappingAttributeName: settings.transientAttribute,
  }),
  federatedLogoutEnabled: settings.federatedLogout,
  signatureAlgorithm:
    settings.hash === "sha256"
      ? SAMLSignatureAlgorithm.SAML_SIGNATURE_RSA_SHA256
      : SAMLSignatureAlgorithm.SAML_SIGNATURE_RSA_SHA512,
})

const nameIdFormatMessages: Readonly<Record<NameIdFormat, SAMLNameIDFormat>> = {
  unspecified: SAMLNameIDFormat.SAML_NAME_ID_FORMAT_UNSPECIFIED,
  email: SAMLNameIDFormat.SAML_NAME_ID_FORMAT_EMAIL_ADDRESS,
  persistent: SAMLNameIDFormat.SAML_NAME_ID_FORMAT_PERSISTENT,
  transient: SAMLNameIDFormat.SAML_NAME_ID_FORMAT_TRANSIENT,
}
