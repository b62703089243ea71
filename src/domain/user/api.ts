import { managementAvatar } from "./binding/v1-avatar.ts"
import { self } from "./binding/v1-self.ts"
import { v2 } from "./binding/v2.ts"
import { v2contact } from "./binding/v2-contact.ts"
import { v2metadata } from "./binding/v2-metadata.ts"

export { newHumanFrom, returnedCodesOf } from "./binding/v2.ts"

/** Operations that this module implements. */
export const shares = [v2, v2metadata, v2contact, self, managementAvatar] as const
