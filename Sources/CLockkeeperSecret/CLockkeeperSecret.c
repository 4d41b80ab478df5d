#define _GNU_SOURCE
#include "CLockkeeperSecret.h"

#ifndef LK_SECRET_SERVICE

lk_secret_result lk_secret_find(const char *service, const char *account) {
    (void)service, (void)account;
    return LK_SECRET_UNAVAILABLE;
}

lk_secret_result lk_secret_store(const char *service, const char *account, const char *label,
                                 const uint8_t *bytes, size_t count) {
    (void)service, (void)account, (void)label, (void)bytes, (void)count;
    return LK_SECRET_UNAVAILABLE;
}

lk_secret_result lk_secret_load(const char *service, const char *account, lk_secret_bytes *into) {
    (void)service, (void)account, (void)into;
    return LK_SECRET_UNAVAILABLE;
}

lk_secret_result lk_secret_delete(const char *service, const char *account) {
    (void)service, (void)account;
    return LK_SECRET_UNAVAILABLE;
}

lk_secret_result lk_secret_list(const char *account, void *context,
                                void (*visit)(void *context, const char *service)) {
    (void)account, (void)context, (void)visit;
    return LK_SECRET_UNAVAILABLE;
}

void lk_secret_free(lk_secret_bytes *bytes) { (void)bytes; }

#else


#include <libsecret/secret.h>
#include <stdlib.h>
#include <string.h>

/* What makes an item ours and tells it from others: nothing that changes with its content, or storing
 * it anew would leave the old one beside it. */
static const SecretSchema schema = {
    "org.lockkeeper.Secret",
    SECRET_SCHEMA_NONE,
    {
        {"service", SECRET_SCHEMA_ATTRIBUTE_STRING},
        {"account", SECRET_SCHEMA_ATTRIBUTE_STRING},
        {NULL, SECRET_SCHEMA_ATTRIBUTE_STRING},
    },
    0, 0, 0, 0, 0, 0, 0, 0,
};

/* Names the kind of an error and frees it. */
static lk_secret_result result_of(GError *error) {
    lk_secret_result result = LK_SECRET_FAILED;
    if (error == NULL) {
        return result;
    }
    if (g_error_matches(error, SECRET_ERROR, SECRET_ERROR_IS_LOCKED)) {
        result = LK_SECRET_LOCKED;
    } else if (g_error_matches(error, SECRET_ERROR, SECRET_ERROR_NO_SUCH_OBJECT)) {
        result = LK_SECRET_MISSING;
    } else if (g_error_matches(error, G_DBUS_ERROR, G_DBUS_ERROR_ACCESS_DENIED) ||
               g_error_matches(error, G_DBUS_ERROR, G_DBUS_ERROR_AUTH_FAILED)) {
        result = LK_SECRET_DENIED;
    } else if (error->domain == G_DBUS_ERROR || error->domain == G_IO_ERROR ||
               error->domain == G_SPAWN_ERROR) {
        result = LK_SECRET_UNAVAILABLE;
    }
    g_error_free(error);
    return result;
}

static GHashTable *attributes_of(const char *service, const char *account) {
    return service != NULL
               ? secret_attributes_build(&schema, "service", service, "account", account, NULL)
               : secret_attributes_build(&schema, "account", account, NULL);
}

static void free_items(GList *items) { g_list_free_full(items, g_object_unref); }

/* Finds items without unlocking anything. */
static lk_secret_result search(const char *service, const char *account, SecretService **owner,
                               GList **items) {
    GError *error = NULL;
    *items = NULL;
    *owner = secret_service_get_sync(SECRET_SERVICE_OPEN_SESSION, NULL, &error);
    if (*owner == NULL) {
        return result_of(error);
    }
    GHashTable *attributes = attributes_of(service, account);
    *items = secret_service_search_sync(*owner, &schema, attributes, SECRET_SEARCH_ALL, NULL,
                                        &error);
    g_hash_table_unref(attributes);
    if (error == NULL) {
        return LK_SECRET_OK;
    }
    g_object_unref(*owner);
    *owner = NULL;
    return result_of(error);
}

/* Whether the default collection can be looked into. GNOME Keyring finds nothing in a collection that it
 * has never opened, so that nothing found says nothing while it is locked. */
static lk_secret_result require_unlocked(SecretService *owner) {
    GError *error = NULL;
    SecretCollection *collection = secret_collection_for_alias_sync(
        owner, SECRET_COLLECTION_DEFAULT, SECRET_COLLECTION_NONE, NULL, &error);
    if (error != NULL) {
        return result_of(error);
    }
    if (collection == NULL) {
        return LK_SECRET_OK;
    }
    lk_secret_result result =
        secret_collection_get_locked(collection) ? LK_SECRET_LOCKED : LK_SECRET_OK;
    g_object_unref(collection);
    return result;
}

static lk_secret_result search_one(const char *service, const char *account,
                                   SecretService **owner, GList **items) {
    lk_secret_result result = search(service, account, owner, items);
    if (result != LK_SECRET_OK) {
        return result;
    }
    if (*items == NULL) {
        result = require_unlocked(*owner);
        if (result == LK_SECRET_OK) {
            result = LK_SECRET_MISSING;
        }
    } else if (secret_item_get_locked((*items)->data)) {
        result = LK_SECRET_LOCKED;
    }
    if (result != LK_SECRET_OK) {
        free_items(*items);
        g_object_unref(*owner);
    }
    return result;
}

lk_secret_result lk_secret_find(const char *service, const char *account) {
    SecretService *owner;
    GList *items;
    lk_secret_result result = search_one(service, account, &owner, &items);
    if (result == LK_SECRET_OK) {
        free_items(items);
        g_object_unref(owner);
    }
    return result;
}

lk_secret_result lk_secret_store(const char *service, const char *account, const char *label,
                                 const uint8_t *bytes, size_t count) {
    GError *error = NULL;
    SecretService *owner = secret_service_get_sync(SECRET_SERVICE_OPEN_SESSION, NULL, &error);
    if (owner == NULL) {
        return result_of(error);
    }
    SecretCollection *collection = secret_collection_for_alias_sync(
        owner, SECRET_COLLECTION_DEFAULT, SECRET_COLLECTION_NONE, NULL, &error);
    lk_secret_result result = LK_SECRET_OK;
    if (error != NULL) {
        result = result_of(error);
    } else if (collection == NULL) {
        result = LK_SECRET_UNAVAILABLE;
    } else if (secret_collection_get_locked(collection)) {
        /* Creating an item in it would ask a person. */
        result = LK_SECRET_LOCKED;
    } else {
        SecretValue *value =
            secret_value_new((const gchar *)bytes, (gssize)count, "application/octet-stream");
        GHashTable *attributes = attributes_of(service, account);
        SecretItem *item = secret_item_create_sync(collection, &schema, attributes, label, value,
                                                   SECRET_ITEM_CREATE_REPLACE, NULL, &error);
        g_hash_table_unref(attributes);
        secret_value_unref(value);
        if (item == NULL) {
            result = result_of(error);
        } else {
            g_object_unref(item);
        }
    }
    if (collection != NULL) {
        g_object_unref(collection);
    }
    g_object_unref(owner);
    return result;
}

lk_secret_result lk_secret_load(const char *service, const char *account, lk_secret_bytes *into) {
    SecretService *owner;
    GList *items;
    lk_secret_result result = search_one(service, account, &owner, &items);
    if (result != LK_SECRET_OK) {
        return result;
    }
    GError *error = NULL;
    SecretItem *item = items->data;
    if (!secret_item_load_secret_sync(item, NULL, &error)) {
        result = result_of(error);
    } else {
        SecretValue *value = secret_item_get_secret(item);
        gsize count = 0;
        const gchar *bytes = value != NULL ? secret_value_get(value, &count) : NULL;
        into->bytes = bytes != NULL ? malloc(count > 0 ? count : 1) : NULL;
        if (into->bytes == NULL) {
            result = LK_SECRET_FAILED;
        } else {
            memcpy(into->bytes, bytes, count);
            into->count = count;
        }
        if (value != NULL) {
            secret_value_unref(value);
        }
    }
    free_items(items);
    g_object_unref(owner);
    return result;
}

lk_secret_result lk_secret_delete(const char *service, const char *account) {
    SecretService *owner;
    GList *items;
    lk_secret_result result = search_one(service, account, &owner, &items);
    if (result != LK_SECRET_OK) {
        return result;
    }
    for (GList *link = items; link != NULL && result == LK_SECRET_OK; link = link->next) {
        GError *error = NULL;
        if (!secret_item_delete_sync(link->data, NULL, &error)) {
            result = result_of(error);
        }
    }
    free_items(items);
    g_object_unref(owner);
    return result;
}

lk_secret_result lk_secret_list(const char *account, void *context,
                                void (*visit)(void *context, const char *service)) {
    SecretService *owner;
    GList *items;
    lk_secret_result result = search(NULL, account, &owner, &items);
    if (result != LK_SECRET_OK) {
        return result;
    }
    result = require_unlocked(owner);
    for (GList *link = items; link != NULL && result == LK_SECRET_OK; link = link->next) {
        GHashTable *attributes = secret_item_get_attributes(link->data);
        const char *service = g_hash_table_lookup(attributes, "service");
        if (service != NULL) {
            visit(context, service);
        }
        g_hash_table_unref(attributes);
    }
    free_items(items);
    g_object_unref(owner);
    return result;
}

void lk_secret_free(lk_secret_bytes *bytes) {
    if (bytes->bytes != NULL) {
        explicit_bzero(bytes->bytes, bytes->count);
        free(bytes->bytes);
        bytes->bytes = NULL;
    }
}

#endif
