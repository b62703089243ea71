import { Fault } from "../../kernel/fault.ts"
import type { Cx } from "../../store/index.ts"
import { requireInstance } from "../instance/index.ts"
import { hasLeft, user } from "../user-model/index.ts"
import { personOf } from "./contact.ts"

type Picture = { readonly name: string; readonly bytes: Uint8Array<ArrayBuffer> }

/** Gives a person a picture; the one before is erased. */
export const setAvatar = user.command<Picture>((state, { name, bytes }) => {
  const { avatar } = personOf(state)
  if (avatar === name) return []
  const types = ["user.human.avatar.added"]
  const former = avatar === undefined ? [] : [{ drop: avatar }]
  const blobs = [...former, { put: name, bytes }]
  const type = "user.human.avatar.added"
  return [{ type, data: {}, private: { file: name }, erase: { types }, blobs }]
})

/** Removes the picture of a person. */
export const removeAvatar = user.command((state) => {
  const { avatar } = personOf(state)
  if (avatar === undefined) throw noPictureError()
  const erase = { types: ["user.human.avatar.added"] }
  return [{ type: "user.human.avatar.removed", data: {}, erase, blobs: [{ drop: avatar }] }]
})

/** Where our own pages find a person's picture; empty for who has none. */
export function avatarPath(cx: Cx, userId: string): string {
  const state = cx.store.state(cx, user, userId)
  if (hasLeft(state) || state.kind !== "human" || state.avatar === undefined) return ""
  const owner = cx.store.receipt(cx, user, userId)?.owner ?? ""
  const path = [owner, "users", userId, "avatar"].map(encodeURIComponent).join("/")
  return `/assets/v1/${path}/${state.avatar}`
}

/** The same as an address for others than our own pages. */
export function avatarAddress(cx: Cx, userId: string): string {
  const path = avatarPath(cx, userId)
  return path && `${requireInstance(cx).publicUrl}${path}`
}

/** A person's picture; with a name the one of that name alone. */
export function findAvatar(
  cx: Cx,
  userId: string,
  name?: string,
): { readonly name: string; readonly bytes: Uint8Array<ArrayBuffer> } | undefined {
  const state = cx.store.state(cx, user, userId)
  const avatar = hasLeft(state) || state.kind !== "human" ? undefined : state.avatar
  if (avatar === undefined || (name !== undefined && name !== avatar)) return undefined
  const bytes = cx.store.blob(cx, user, { id: userId, name: avatar })
  return bytes && { name: avatar, bytes }
}

export const noPictureError = () =>
  new Fault("not_found", "asset.missing", "there is no picture of this person")
