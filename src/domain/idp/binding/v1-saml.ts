import type { AddSAMLProviderRequest } from "../../../gen/core/admin/v1/idp_pb.ts"
import {
  SAMLBinding,
  SAMLNameIDFormat,
  SAMLSignatureAlgorithm,
} from "../../../gen/core/idp/v1/idp_pb.ts"
import { onLatest } from "../../../kernel/edit/latest.ts"
import { meaning } from "../../../protocol/api/answer.ts"
import { type MaskedRequest, mergedWith } from "../../../protocol/api/mask.ts"
import type { Cx, Receipt } from "../../../store/index.ts"
import { metadataText } from "../../../xml/metadata.ts"
import type { Binding, Hash, NameIdFormat } from "../../../xml/names.ts"
import { changeIdp, findIdp, metadataOf, type Place, type Wish } from "../commands.ts"
import { refusedError } from "../field.ts"
import type { Settings } from "../model.ts"
import { anchorOf, type Before, keptProvider, metadataAt, samlOf } from "../saml/known.ts"
import { newPairs } from "../saml/pair.ts"
import { metadataReading, type SamlProvider, usableProviderOf } from "../saml/provider.ts"
import { optionsOf, shownOptions } from "./v1-form.ts"

type Saml = Extract<Settings, { kind: "saml" }>

/** What requests say of a provider that speaks SAML, of the instance and of an organisation. */
export type SamlFields = Omit<AddSAMLProviderRequest, "$typeName" | "$unknown">

/** A new provider; it gets a key pair of its own, which nobody else has. */
export async function newSaml(req: SamlFields, cx: Cx): Promise<Wish> {
  const source = await sourceOf(cx, req)
  const wish = await wishFor(cx, req, { source })
  const options = { encryptAssertions: false, ...wish.options }
  return { ...wish, options, secret: await newPairs(cx) }
}

/**
 * Changes one that is there already. With a mask it is read first, for what its metadata say takes
 * time, and read again where somebody has changed it meanwhile.
 */
export async function changeSaml(
  cx: Cx,
  place: Place,
  req: SamlFields & MaskedRequest & { readonly id: string },
): Promise<Receipt> {
  const { id } = req
  if (!req.updateMask) return changeIdp(cx, place, id, await samlChange(cx, place, req))
  return onLatest(cx, async (cx) => {
    const idp = findIdp(cx, place, id, "saml")
    const { metadataXml, ...shown } = shownSaml(samlOf({ idp }), metadataOf(cx, id))
    const stored = {
      ...shown,
      id,
      name: idp.name,
      providerOptions: shownOptions(idp.options),
      metadata: { case: "metadataXml", value: metadataXml },
    }
    const names = { metadata: ["metadataXml", "metadataUrl"] }
    const wish = await samlChange(cx, place, mergedWith(req, stored, names))
    return changeIdp(cx, place, id, { kind: "saml", say: () => wish })
  })
}

/** One that is there already; its key pair stays. Metadata as they are shown leave them alone. */
async function samlChange(
  cx: Cx,
  place: Place,
  req: SamlFields & { readonly id: string },
): Promise<Wish> {
  const idp = findIdp(cx, place, req.id, "saml")
  const settings = samlOf({ idp })
  const { signingKeys } = await keptProvider(cx, { idp })
  const given = await sourceOf(cx, req)
  const isAsShown = given.url === "" && given.metadata === metadataOf(cx, idp.id)
  const source = isAsShown ? { ...given, url: settings.metadataUrl } : given
  return wishFor(cx, req, { source, before: { settings, signingKeys } })
}

type Source = { readonly metadata: string; readonly url: string }

async function sourceOf(cx: Cx, { metadata }: Pick<SamlFields, "metadata">): Promise<Source> {
  if (metadata.case === "metadataUrl") {
    return { metadata: await metadataAt(cx, metadata.value), url: metadata.value }
  }
  if (metadata.case === "metadataXml") {
    return { metadata: metadataText(metadata.value, metadataReading), url: "" }
  }
  throw refusedError("metadata_xml", "is missing; send that, or metadata_url")
}

type Wishing = { readonly source: Source; readonly before?: Before }

async function wishFor(cx: Cx, req: SamlFields, { source, before }: Wishing): Promise<Wish> {
  const { metadata, url: metadataUrl } = source
  const provider = await usableProviderOf(metadata, cx.clock.now())
  const settings: Saml = {
    kind: "saml",
    entityId: provider.entityId,
    anchor: anchorOf(provider, metadataUrl, before),
    metadataUrl,
    binding: bindingFor(req.binding, provider),
    withSignedRequest: req.withSignedRequest,
    hash: hashFor(req.signatureAlgorithm),
    nameIdFormat: meaning(
      formats,
      req.nameIdFormat ?? SAMLNameIDFormat.SAML_NAME_ID_FORMAT_PERSISTENT,
    ),
    transientAttribute: req.transientMappingAttributeName?.trim() ?? "",
    federatedLogout: req.federatedLogoutEnabled ?? false,
  }
  return { name: req.name, settings, options: optionsOf(req.providerOptions), metadata }
}

/** One that the provider takes; where nobody says which, the first that it has. */
function bindingFor(wanted: SAMLBinding, { signOn }: SamlProvider): Binding {
  if (wanted === SAMLBinding.SAML_BINDING_ARTIFACT) {
    throw refusedError("binding", "can't be HTTP-Artifact; use HTTP-Redirect or HTTP-POST")
  }
  const binding = meaning(bindings, wanted)
  const found = binding ? signOn.find((each) => each.binding === binding) : signOn[0]
  if (found) return found.binding
  throw refusedError("binding", "is none that the SingleSignOnService of the metadata has")
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

function hashFor(wanted: SAMLSignatureAlgorithm): Hash {
  if (wanted === SAMLSignatureAlgorithm.SAML_SIGNATURE_RSA_SHA1) {
    throw refusedError("signature_algorithm", "can't be RSA_SHA1, which proves nothing any more")
  }
  return meaning(hashes, wanted)
}

/** A provider that speaks SAML as both versions show it; never its private key. */
export const shownSaml = (settings: Saml, metadata: string) => ({
  metadataXml: new TextEncoder().encode(metadata),
  binding:
    settings.binding === "post" ? SAMLBinding.SAML_BINDING_POST : SAMLBinding.SAML_BINDING_REDIRECT,
  withSignedRequest: settings.withSignedRequest,
  nameIdFormat: shownFormats[settings.nameIdFormat],
  ...(settings.transientAttribute !== "" && {
    transientMappingAttributeName: settings.transientAttribute,
  }),
  federatedLogoutEnabled: settings.federatedLogout,
  signatureAlgorithm:
    settings.hash === "sha256"
      ? SAMLSignatureAlgorithm.SAML_SIGNATURE_RSA_SHA256
      : SAMLSignatureAlgorithm.SAML_SIGNATURE_RSA_SHA512,
})

const shownFormats: Readonly<Record<NameIdFormat, SAMLNameIDFormat>> = {
  unspecified: SAMLNameIDFormat.SAML_NAME_ID_FORMAT_UNSPECIFIED,
  email: SAMLNameIDFormat.SAML_NAME_ID_FORMAT_EMAIL_ADDRESS,
  persistent: SAMLNameIDFormat.SAML_NAME_ID_FORMAT_PERSISTENT,
  transient: SAMLNameIDFormat.SAML_NAME_ID_FORMAT_TRANSIENT,
}
