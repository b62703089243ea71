import { AuthService } from "../../../src/gen/core/auth/v1/auth_service_pb.ts"
import type { Human, User } from "../../../src/gen/core/user/v1/user_pb.ts"
import { useRead } from "../shell/index.ts"

export type Me = { readonly user: User; readonly human: Human; readonly canRename: boolean }

/** The signed-in user, always a human user; undefined while loading. */
export function useMe(): Me | undefined {
  const { user, canRename } = useRead(AuthService.method.getMyUser)
  return user?.type.case === "human" ? { user, human: user.type.value, canRename } : undefined
}
