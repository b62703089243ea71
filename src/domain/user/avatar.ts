import { Fault } from "../../kernel/fault.ts"
import type { Cx } from "../../store/index.ts"
import { requireInstance } from "../instance/index.ts"
import { isAbsent, user } from "../user-model/index.ts"
import { requireContactOwner } from "./contact.ts"

type AvatarInput = { readonly name: string; readonly bytes: Uint8Array<ArrayBuffer> }

/** Sets the avatar of a user; the previous one is erased. */
export const setAvatar = user.command<AvatarInput>((state, { name, bytes }) => {
  const { avatar } = requireContactOwner(state)
  if (avatar === name) return []
  const types = ["user.human.avatar.added"]
  const previousBlob = avatar === undefined ? [] : [{ drop: avatar }]
  const blobs = [...previousBlob, { put: name, bytes }]
  const type = "user.human.avatar.added"
  return [{ type, data: {}, private: { file: name }, erase: { types }, blobs }]
})

/** Removes the avatar of a user. */
export const removeAvatar = user.command((state) => {
  const { avatar } = requireContactOwner(state)
  if (avatar === undefined) throw avatarNotFoundError()
  const erase = { types: ["user.human.avatar.added"] }
  return [{ type: "user.human.avatar.removed", data: {}, erase, blobs: [{ drop: avatar }] }]
})

/** Path of a user's avatar; empty if there is none. */
export function avatarPath(cx: Cx, userId: string): string {
  const state = cx.store.state(cx, user, userId)
  if (isAbsent(state) || state.kind !== "human" || state.avatar === undefined) return ""
  const owner = cx.store.receipt(cx, user, userId)?.owner ?? ""
  const path = [owner, "users", userId, "avatar"].map(encodeURIComponent).join("/")
  return `/assets/v1/${path}/${state.avatar}`
}

/** URL of a user's avatar; empty if there is none. */
export function avatarUrl(cx: Cx, userId: string): string {
  const path = avatarPath(cx, userId)
  return path && `${requireInstance(cx).publicUrl}${path}`
}

/** Finds the avatar of a user; with a name, only the file of that name. */
export function findAvatar(
  cx: Cx,
  userId: string,
  name?: string,
): { readonly name: string; readonly bytes: Uint8Array<ArrayBuffer> } | undefined {
  const state = cx.store.state(cx, user, userId)
  const avatar = isAbsent(state) || state.kind !== "human" ? undefined : state.avatar
  if (avatar === undefined || (name !== undefined && name !== avatar)) return undefined
  const bytes = cx.store.blob(cx, user, { id: userId, name: avatar })
  return bytes && { name: avatar, bytes }
}

export const avatarNotFoundError = () => new Fault("not_found", "asset.missing", "avatar not found")
