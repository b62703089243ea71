import { users } from "../../../src/domain/user-lookup/view.ts"
import { type Cx, search } from "../../../src/store/index.ts"

/** The number of users whose email address contains a text. */
export async function countUsers(cx: Cx, value: string): Promise<number> {
  const page = { offset: 0, limit: 1, asc: true }
  const filters = [{ text: "email_folded", method: "contains", value }] as const
  return (await search(cx, users, { page, filters })).total
}
