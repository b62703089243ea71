import type { User } from "../../../src/gen/core/user/v2/user_pb.ts"

/** What every part of a user's page is handed. */
export type UserPart = { readonly user: User }
