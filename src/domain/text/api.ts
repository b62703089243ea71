import { admin as adminLogin, management as managementLogin } from "./binding/v1-login.ts"
import { admin as adminMessages, management as managementMessages } from "./binding/v1-message.ts"
import { v2 } from "./binding/v2.ts"

/** The API operations of this module. */
export const shares = [adminMessages, managementMessages, adminLogin, managementLogin, v2] as const
