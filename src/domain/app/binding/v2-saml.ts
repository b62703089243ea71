import type {
  CreateSAMLApplicationRequest,
  UpdateSAMLApplicationConfigurationRequest,
} from "../../../gen/core/application/v2/application_service_pb.ts"
import { Fault } from "../../../kernel/fault.ts"
import type { Cx } from "../../../store/index.ts"
import type { SamlConfig } from "../model.ts"
import { fetchMetadata, readMetadata } from "../saml.ts"
import { loginVersionOf, toLoginVersion } from "./v2-login.ts"

/** What a new application is asked to be; its metadata is fetched where only the address came. */
export async function newSaml(cx: Cx, req: CreateSAMLApplicationRequest): Promise<SamlConfig> {
  const said = await metadataOf(cx, req)
  if (!said) {
    const message = "give the metadata of the service provider: metadata_xml or metadata_url"
    throw new Fault("invalid_argument", "app.metadata_missing", message)
  }
  return {
    ...said,
    loginVersion: loginVersionOf(req.loginVersion) ?? { version: "unspecified" },
    enforceContext: req.enforceRequestedContext,
  }
}

/** What is to change. */
export async function samlChange(
  cx: Cx,
  req: UpdateSAMLApplicationConfigurationRequest,
): Promise<Partial<SamlConfig>> {
  const loginVersion = loginVersionOf(req.loginVersion)
  const enforceContext = req.enforceRequestedContext
  return {
    ...(await metadataOf(cx, req)),
    ...(loginVersion && { loginVersion }),
    ...(enforceContext !== undefined && { enforceContext }),
  }
}

type Given = Pick<CreateSAMLApplicationRequest, "metadata">

async function metadataOf(cx: Cx, { metadata: { case: form, value } }: Given) {
  if (form === undefined) return undefined
  if (form === "metadataUrl") return { ...(await fetchMetadata(cx, value)), metadataUrl: value }
  return { ...(await readMetadata(value, cx.clock.now())), metadataUrl: "" }
}

/** A configuration as it is shown. */
export const toSaml = (saml: SamlConfig) => ({
  metadataXml: Buffer.from(saml.metadata),
  metadataUrl: saml.metadataUrl,
  loginVersion: toLoginVersion(saml.loginVersion),
  enforceRequestedContext: saml.enforceContext ?? false,
})
