import { share } from "../../../api/method.ts"
import { UserService } from "../../../gen/core/user/v2/user_service_pb.ts"
import type { Cx } from "../../../store/index.ts"
import { confirmEmailsOf, unconfirmedEmails } from "../confirm.ts"

/** Email addresses that only the organization of their users has verified. */
export const v2email = share<Cx>()(UserService, {
  listUnconfirmedEmails: async (req, cx) => {
    const { users, count } = await unconfirmedEmails(cx, req)
    return { users: [...users], count }
  },
  confirmEmails: ({ emails }, cx) => confirmEmailsOf(cx, emails),
})
