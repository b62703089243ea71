import type { User } from "../../../src/gen/core/user/v2/user_pb.ts"

/** What every part of a user's page is handed. */
export type UserPart = { readonly user: User }

/** The same, for a form of it. */
export type UserForm = UserPart & { readonly id: string; readonly close: () => void }
