import type { MessageInitShape } from "@bufbuild/protobuf"
import type {
  APIConfiguration,
  Application,
  OIDCConfiguration,
} from "../../../src/gen/core/application/v2/application_pb.ts"
import {
  ApplicationService,
  type UpdateOIDCApplicationConfigurationRequestSchema,
} from "../../../src/gen/core/application/v2/application_service_pb.ts"
import { call } from "../shell/index.ts"

export type OidcChange = MessageInitShape<typeof UpdateOIDCApplicationConfigurationRequestSchema>

/** Props of all parts of the application page. */
export type ApplicationPart = { readonly application: Application }

/** Props of parts for OpenID Connect applications. */
export type OidcPart = ApplicationPart & { readonly oidc: OIDCConfiguration }

/** Props of parts for APIs. */
export type ApiPart = ApplicationPart & { readonly api: APIConfiguration }

/** Updates an OpenID Connect application; omitted and empty lists are kept. */
export function updateOidc({ application }: OidcPart, value: OidcChange) {
  const { applicationId, projectId, name } = application
  const applicationType = { case: "oidcConfiguration", value } as const
  const request = { applicationId, projectId, name, applicationType }
  return call(ApplicationService.method.updateApplication, request)
}
