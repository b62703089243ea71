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

/** What every part of an application's page is handed. */
export type ApplicationPart = { readonly application: Application }

/** The same, for what only OpenID Connect applications have. */
export type OidcPart = ApplicationPart & { readonly oidc: OIDCConfiguration }

/** The same, for what only APIs have. */
export type ApiPart = ApplicationPart & { readonly api: APIConfiguration }

/** Changes what is given; lists that are left out, or empty, stay as they are. */
export function changeOidc({ application }: OidcPart, value: OidcChange) {
  const { applicationId, projectId, name } = application
  const applicationType = { case: "oidcConfiguration", value } as const
  const wanted = { applicationId, projectId, name, applicationType }
  return call(ApplicationService.method.updateApplication, wanted)
}
