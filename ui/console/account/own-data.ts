import {
  type DescMessage,
  type DescMethodUnary,
  type MessageInitShape,
  toJson,
} from "@bufbuild/protobuf"
import { ActivityService } from "../../../src/gen/core/activity/v2/activity_service_pb.ts"
import { AuthService } from "../../../src/gen/core/auth/v1/auth_service_pb.ts"
import { SessionService } from "../../../src/gen/core/session/v2/session_service_pb.ts"
import { call } from "../shell/index.ts"

/** Maximum page size of the API. */
const pageSize = 1000

/** All data of the user that the API returns, in its JSON format; contains no secrets. */
export async function fetchOwnData(userId: string): Promise<object> {
  const { method } = AuthService
  const theirs = { case: "userIdQuery" as const, value: { id: userId } }
  return {
    user: await callForJson(method.getMyUser),
    metadata: await callForJson(method.listMyMetadata, { query: { limit: pageSize } }),
    secondFactors: await callForJson(method.listMyAuthFactors),
    passkeys: await callForJson(method.listMyPasswordless),
    sessions: await callForJson(SessionService.method.listSessions, {
      query: { limit: pageSize },
      queries: [{ query: theirs }],
    }),
    refreshTokens: await callForJson(method.listMyRefreshTokens),
    connectedApplications: await callForJson(ActivityService.method.listConnectedApplications),
    memberships: await callForJson(method.listMyMemberships, { query: { limit: pageSize } }),
    history: await callForJson(method.listMyUserChanges, { query: { limit: pageSize } }),
  }
}

async function callForJson<I extends DescMessage, O extends DescMessage>(
  method: DescMethodUnary<I, O>,
  input?: MessageInitShape<I>,
): Promise<unknown> {
  return toJson(method.output, await call(method, input))
}
