import { bindHandlers } from "../../../api/method.ts"
import {
  APIAuthMethodType,
  ApplicationType,
} from "../../../gen/core/application/v2/application_pb.ts"
import {
  ApplicationService,
  type CreateAPIApplicationRequest,
  type CreateApplicationRequest,
  type UpdateApplicationRequest,
} from "../../../gen/core/application/v2/application_service_pb.ts"
import { ManagementService } from "../../../gen/core/management/v1/management_service_pb.ts"
import { ProjectService } from "../../../gen/core/project/v2/project_service_pb.ts"
import { Fault } from "../../../kernel/fault.ts"
import { parseResourceId } from "../../../kernel/text/identifier.ts"
import { toDetails, toTimestamp, valueOfEnum } from "../../../protocol/api/response.ts"
import type { Cx } from "../../../store/index.ts"
import { requireInstance } from "../../instance/index.ts"
import {
  type AppConfigInput,
  type ApplicationChange,
  type ChosenCredentials,
  createApplication,
  deactivateApplication,
  reactivateApplication,
  removeApplication,
  removeProjectWithApps,
  updateApplication,
} from "../commands.ts"
import type { ApiConfig } from "../model.ts"
import { oidcDefaults } from "../oidc.ts"
import { normalizeScope } from "../scope.ts"
import { accessInputOf } from "./v2-access.ts"
import { compliance, newOidc, oidcChange } from "./v2-oidc.ts"
import { newSaml, samlChange } from "./v2-saml.ts"

/** Commands of applications; v2-search.ts has the queries. */
export const v2 = bindHandlers<Cx>()(ApplicationService, {
  createApplication: (req, cx) => createFromRequest(cx, req),
  updateApplication: async (req, cx) => {
    const { changed } = await updateApplication(cx, req.applicationId, await changesOf(cx, req))
    return { changeDate: toTimestamp(changed) }
  },
  deactivateApplication: async (req, cx) => {
    const { changed } = await deactivateApplication(cx, req.applicationId)
    return { deactivationDate: toTimestamp(changed) }
  },
  reactivateApplication: async (req, cx) => {
    const { changed } = await reactivateApplication(cx, req.applicationId)
    return { reactivationDate: toTimestamp(changed) }
  },
  deleteApplication: async (req, cx) => {
    const { changed } = await removeApplication(cx, req.applicationId)
    return { deletionDate: toTimestamp(changed) }
  },
})

/** Deleting a project also removes its applications, so these operations are implemented here. */
export const projectV2 = bindHandlers<Cx>()(ProjectService, {
  deleteProject: async (req, cx) => {
    const { changed } = await removeProjectWithApps(cx, req.projectId)
    return { deletionDate: toTimestamp(changed) }
  },
})

export const management = bindHandlers<Cx>()(ManagementService, {
  removeProject: async (req, cx) => ({
    details: toDetails(await removeProjectWithApps(cx, req.id)),
  }),
})

async function createFromRequest(cx: Cx, req: CreateApplicationRequest) {
  const { projectId, name } = req
  const id = parseResourceId(cx.ids, "application_id", req.applicationId)
  const config = await configOf(cx, req)
  const access = accessInputOf(req.access)
  const input = { projectId, name, config, access, chosen: chosenCredentialsOf(req) }
  const { receipt, clientId, secret } = await createApplication(cx, id, input)
  return {
    applicationId: id,
    creationDate: toTimestamp(receipt.created),
    applicationType: toCreatedApplication(cx, config, { clientId, clientSecret: secret ?? "" }),
  }
}

/** Client ID and secret that the caller chose; SAML service providers have neither. */
function chosenCredentialsOf({
  applicationType: { value },
}: CreateApplicationRequest): ChosenCredentials {
  if (!value || !("clientId" in value)) return {}
  const { clientId, clientSecret } = value
  return { clientId, clientSecret }
}

type Credentials = { readonly clientId: string; readonly clientSecret: string }

/** The response for a new application. It is the only one that contains the client secret. */
function toCreatedApplication(cx: Cx, config: AppConfigInput, credentials: Credentials) {
  if (config.kind === "saml") return { case: "samlConfiguration", value: {} } as const
  if (config.kind === "api") return { case: "apiConfiguration", value: credentials } as const
  const problems = compliance({ ...oidcDefaults, ...config.oidc }, requireInstance(cx).publicUrl)
  return { case: "oidcConfiguration", value: { ...credentials, ...problems } } as const
}

/**
 * The API has two spellings of each configuration. `type` is optional but must match the
 * configuration.
 */
async function configOf(
  cx: Cx,
  { type, applicationType: { case: kind, value } }: CreateApplicationRequest,
): Promise<AppConfigInput> {
  switch (kind) {
    case "oidc":
    case "oidcConfiguration":
      requireSameType(type, ApplicationType.OIDC)
      return { kind: "oidc", oidc: newOidc(value) }
    case "api":
    case "apiConfiguration":
      requireSameType(type, ApplicationType.API)
      return { kind: "api", api: apiOf(value) }
    case "saml":
    case "samlConfiguration":
      requireSameType(type, ApplicationType.SAML)
      return { kind: "saml", saml: await newSaml(cx, value) }
    default:
      throw new Fault(
        "invalid_argument",
        "app.kind_missing",
        "the application requires one of: oidc, api, saml",
      )
  }
}

function requireSameType(requested: ApplicationType, configured: ApplicationType): void {
  if (requested === ApplicationType.UNSPECIFIED || requested === configured) return
  throw new Fault(
    "invalid_argument",
    "app.type_contradicts",
    "type does not match the configuration; omit type",
  )
}

/** The configuration of an API; absent resources and scopes remain unchanged. */
const apiOf = ({
  authMethodType,
  resources,
  scopes,
}: Pick<CreateAPIApplicationRequest, "authMethodType" | "resources" | "scopes">): ApiConfig => ({
  authMethod: valueOfEnum(apiMethods, authMethodType),
  ...(resources && { resources: [...new Set(resources.uris)] }),
  ...(scopes && { scopes: scopes.scopes.map(normalizeScope) }),
})

const apiMethods = {
  [APIAuthMethodType.API_AUTH_METHOD_TYPE_BASIC]: "basic",
  [APIAuthMethodType.API_AUTH_METHOD_TYPE_PRIVATE_KEY_JWT]: "private_key_jwt",
} as const

/** The fields to update; an empty name leaves the name unchanged. */
async function changesOf(
  cx: Cx,
  { name, access, applicationType }: UpdateApplicationRequest,
): Promise<ApplicationChange> {
  const nameChange = { ...(name !== "" && { name }), access: accessInputOf(access) }
  switch (applicationType.case) {
    case "oidcConfiguration":
      return { ...nameChange, oidc: oidcChange(applicationType.value) }
    case "apiConfiguration": {
      return { ...nameChange, api: apiOf(applicationType.value) }
    }
    case "samlConfiguration":
      return { ...nameChange, saml: await samlChange(cx, applicationType.value) }
    default:
      return nameChange
  }
}
