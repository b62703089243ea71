import { admin as email } from "./v1-email.ts"
import { admin as sms } from "./v1-sms.ts"
import { admin as smtp } from "./v1-smtp.ts"

/** The API operations of this module. */
export const shares = [email, sms, smtp] as const
