import { bindHandlers } from "../../../api/method.ts"
import { UserService } from "../../../gen/core/user/v2/user_service_pb.ts"
import type { Cx } from "../../../store/index.ts"
import { confirmListedEmails, listUnconfirmedEmails } from "../confirm.ts"

/** Lists email addresses that only the user's organization has verified. */
export const v2email = bindHandlers<Cx>()(UserService, {
  listUnconfirmedEmails: async (req, cx) => {
    const { users, count } = await listUnconfirmedEmails(cx, req)
    return { users: [...users], count }
  },
  confirmEmails: ({ emails }, cx) => confirmListedEmails(cx, emails),
})
