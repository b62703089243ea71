import { share } from "../../../api/method.ts"
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
import { givenId } from "../../../kernel/text/given.ts"
import { at, details, meaning } from "../../../protocol/api/answer.ts"
import type { Cx } from "../../../store/index.ts"
import { requireInstance } from "../../instance/index.ts"
import {
  type AppKind,
  type ApplicationChange,
  type ChosenCredentials,
  changeApplication,
  createApplication,
  deactivateApplication,
  reactivateApplication,
  removeApplication,
  removeProjectWithApps,
} from "../commands.ts"
import type { ApiConfig } from "../model.ts"
import { oidcDefaults } from "../oidc.ts"
import { apiScope } from "../scope.ts"
import { accessChange } from "./v2-access.ts"
import { compliance, newOidc, oidcChange } from "./v2-oidc.ts"
import { newSaml, samlChange } from "./v2-saml.ts"

/** Changing applications; looking at them is in v2search.ts. */
export const v2 = share<Cx>()(ApplicationService, {
  createApplication: (req, cx) => create(cx, req),
  updateApplication: async (req, cx) => {
    const { changed } = await changeApplication(cx, req.applicationId, await changeOf(cx, req))
    return { changeDate: at(changed) }
  },
  deactivateApplication: async (req, cx) => {
    const { changed } = await deactivateApplication(cx, req.applicationId)
    return { deactivationDate: at(changed) }
  },
  reactivateApplication: async (req, cx) => {
    const { changed } = await reactivateApplication(cx, req.applicationId)
    return { reactivationDate: at(changed) }
  },
  deleteApplication: async (req, cx) => {
    const { changed } = await removeApplication(cx, req.applicationId)
    return { deletionDate: at(changed) }
  },
})

/** A project goes with its applications, so it is removed here. */
export const projectV2 = share<Cx>()(ProjectService, {
  deleteProject: async (req, cx) => {
    const { changed } = await removeProjectWithApps(cx, req.projectId)
    return { deletionDate: at(changed) }
  },
})

export const management = share<Cx>()(ManagementService, {
  removeProject: async (req, cx) => ({ details: details(await removeProjectWithApps(cx, req.id)) }),
})

async function create(cx: Cx, req: CreateApplicationRequest) {
  const { projectId, name } = req
  const id = givenId(cx.ids, "application_id", req.applicationId)
  const config = await kindOf(cx, req)
  const access = accessChange(req.access)
  const input = { projectId, name, config, access, chosen: chosenIn(req) }
  const { receipt, clientId, secret } = await createApplication(cx, id, input)
  return {
    applicationId: id,
    creationDate: at(receipt.created),
    applicationType: shown(cx, config, { clientId, clientSecret: secret ?? "" }),
  }
}

/** A SAML service provider has neither. */
function chosenIn({ applicationType: { value } }: CreateApplicationRequest): ChosenCredentials {
  if (!value || !("clientId" in value)) return {}
  const { clientId, clientSecret } = value
  return { clientId, clientSecret }
}

type Credentials = { readonly clientId: string; readonly clientSecret: string }

/** What a caller learns of a new application, its secret this once. */
function shown(cx: Cx, config: AppKind, credentials: Credentials) {
  if (config.kind === "saml") return { case: "samlConfiguration", value: {} } as const
  if (config.kind === "api") return { case: "apiConfiguration", value: credentials } as const
  const problems = compliance({ ...oidcDefaults, ...config.oidc }, requireInstance(cx).publicUrl)
  return { case: "oidcConfiguration", value: { ...credentials, ...problems } } as const
}

/** Both spellings of the three kinds count; `type` may be left out but not contradict. */
async function kindOf(
  cx: Cx,
  { type, applicationType: { case: kind, value } }: CreateApplicationRequest,
): Promise<AppKind> {
  switch (kind) {
    case "oidc":
    case "oidcConfiguration":
      mustAgree(type, ApplicationType.OIDC)
      return { kind: "oidc", oidc: newOidc(value) }
    case "api":
    case "apiConfiguration":
      mustAgree(type, ApplicationType.API)
      return { kind: "api", api: apiOf(value) }
    case "saml":
    case "samlConfiguration":
      mustAgree(type, ApplicationType.SAML)
      return { kind: "saml", saml: await newSaml(cx, value) }
    default:
      throw new Fault(
        "invalid_argument",
        "app.kind_missing",
        "say what the application is with one of oidc, api, saml",
      )
  }
}

function mustAgree(said: ApplicationType, is: ApplicationType): void {
  if (said === ApplicationType.UNSPECIFIED || said === is) return
  throw new Fault(
    "invalid_argument",
    "app.type_contradicts",
    "type and the configuration that is given are not of the same kind; leave type out",
  )
}

/** What is said of an API; resources and scopes that are left out stay as they are. */
const apiOf = ({
  authMethodType,
  resources,
  scopes,
}: Pick<CreateAPIApplicationRequest, "authMethodType" | "resources" | "scopes">): ApiConfig => ({
  authMethod: meaning(apiMethods, authMethodType),
  ...(resources && { resources: [...new Set(resources.uris)] }),
  ...(scopes && { scopes: scopes.scopes.map(apiScope) }),
})

const apiMethods = {
  [APIAuthMethodType.API_AUTH_METHOD_TYPE_BASIC]: "basic",
  [APIAuthMethodType.API_AUTH_METHOD_TYPE_PRIVATE_KEY_JWT]: "private_key_jwt",
} as const

/** An empty name is one that was left out. */
async function changeOf(
  cx: Cx,
  { name, access, applicationType }: UpdateApplicationRequest,
): Promise<ApplicationChange> {
  const named = { ...(name !== "" && { name }), access: accessChange(access) }
  switch (applicationType.case) {
    case "oidcConfiguration":
      return { ...named, oidc: oidcChange(applicationType.value) }
    case "apiConfiguration": {
      return { ...named, api: apiOf(applicationType.value) }
    }
    case "samlConfiguration":
      return { ...named, saml: await samlChange(cx, applicationType.value) }
    default:
      return named
  }
}
