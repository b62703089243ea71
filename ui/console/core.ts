import { Code, ConnectError, createClient, type Interceptor } from "@connectrpc/connect"
import { createConnectTransport } from "@connectrpc/connect-web"
import { AdminService } from "../../src/gen/core/admin/v1/admin_service_pb.ts"
import { ApplicationService } from "../../src/gen/core/application/v2/application_service_pb.ts"
import { AuthorizationService } from "../../src/gen/core/authorization/v2/authorization_service_pb.ts"
import { DiagnosisService } from "../../src/gen/core/diagnosis/v2/diagnosis_service_pb.ts"
import { GroupService } from "../../src/gen/core/group/v2/group_service_pb.ts"
import { InternalPermissionService } from "../../src/gen/core/internal_permission/v2/internal_permission_service_pb.ts"
import { ManagementService } from "../../src/gen/core/management/v1/management_service_pb.ts"
import { OrganizationService } from "../../src/gen/core/org/v2/organization_service_pb.ts"
import { ProjectService } from "../../src/gen/core/project/v2/project_service_pb.ts"
import { SettingsService } from "../../src/gen/core/settings/v2/settings_service_pb.ts"
import { UserService } from "../../src/gen/core/user/v2/user_service_pb.ts"
import { WebKeyService } from "../../src/gen/core/webkey/v2/webkey_service_pb.ts"
import { sentenceOf } from "../kit/sentence.ts"

/** The services of the server that the console calls. */
export type Core = ReturnType<typeof coreOf>

/** Clients that carry the token; `expired` is called once the server no longer accepts it. */
export function coreOf(accessToken: string, expired: () => void) {
  const started = Date.now()
  const bearer: Interceptor = (next) => async (request) => {
    request.header.set("authorization", `Bearer ${accessToken}`)
    try {
      return await next(request)
    } catch (failure) {
      const unauthenticated = ConnectError.from(failure).code === Code.Unauthenticated
      // A token refused as soon as it was issued would send the browser round in circles.
      if (unauthenticated && Date.now() - started > 30_000) expired()
      throw failure
    }
  }
  const transport = createConnectTransport({ baseUrl: location.origin, interceptors: [bearer] })
  return {
    users: createClient(UserService, transport),
    projects: createClient(ProjectService, transport),
    applications: createClient(ApplicationService, transport),
    organizations: createClient(OrganizationService, transport),
    authorizations: createClient(AuthorizationService, transport),
    diagnosis: createClient(DiagnosisService, transport),
    webKeys: createClient(WebKeyService, transport),
    settings: createClient(SettingsService, transport),
    admin: createClient(AdminService, transport),
    management: createClient(ManagementService, transport),
    permissions: createClient(InternalPermissionService, transport),
    groups: createClient(GroupService, transport),
  }
}

/** Some older operations mean the organisation that a header names. */
export const within = (organizationId: string) => ({
  headers: { "x-core-orgid": organizationId },
})

/** What the server said went wrong, without the id it ends with. */
export function messageOf(failure: unknown): string {
  return sentenceOf(ConnectError.from(failure).rawMessage.replace(/\s\([a-z0-9_.]+\)$/, ""))
}

/** Whether the server refused because the person may not do or see this. */
export function isDenied(failure: unknown): boolean {
  return ConnectError.from(failure).code === Code.PermissionDenied
}

/** Whether the server refused with this id. */
export function isFault(failure: unknown, id: string): boolean {
  return ConnectError.from(failure).rawMessage.endsWith(`(${id})`)
}

/** What `read` answers, or `otherwise` where the person may not see it. */
export async function unlessDenied<Value>(read: Promise<Value>, otherwise: Value): Promise<Value> {
  try {
    return await read
  } catch (failure) {
    if (isDenied(failure)) return otherwise
    throw failure
  }
}
