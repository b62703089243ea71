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

/** As many of each as one answer may hold. */
const most = 1000

/**
 * All that the interface tells people of themselves, in the JSON of its own messages: what one sees
 * on the pages, and no secret, as none is told.
 */
export async function ownData(userId: string): Promise<object> {
  const { method } = AuthService
  const theirs = { case: "userIdQuery" as const, value: { id: userId } }
  return {
    user: await read(method.getMyUser),
    metadata: await read(method.listMyMetadata, { query: { limit: most } }),
    secondFactors: await read(method.listMyAuthFactors),
    passkeys: await read(method.listMyPasswordless),
    sessions: await read(SessionService.method.listSessions, {
      query: { limit: most },
      queries: [{ query: theirs }],
    }),
    refreshTokens: await read(method.listMyRefreshTokens),
    connectedApplications: await read(ActivityService.method.listConnectedApplications),
    memberships: await read(method.listMyMemberships, { query: { limit: most } }),
    history: await read(method.listMyUserChanges, { query: { limit: most } }),
  }
}

async function read<I extends DescMessage, O extends DescMessage>(
  method: DescMethodUnary<I, O>,
  input?: MessageInitShape<I>,
): Promise<unknown> {
  return toJson(method.output, await call(method, input))
}
